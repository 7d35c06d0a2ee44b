/**
 * Limits messages a second, each key apart. What a second allows may come at once, and the last request
 * may pass the limit: it is taken whole, and those after it wait until the debt is paid.
 */
export class RateLimiter {
  /** Of each key, the moment at which it owes nothing any more, in milliseconds since the epoch. */
  private readonly paidAt = new Map<string, number>();

  /** @param limit messages a second */
  constructor(private readonly limit: number) {}

  /** Milliseconds until the key may send again; 0 when it may now. */
  wait(key: string, now: number): number {
    return Math.max((this.paidAt.get(key) ?? 0) - now, 0);
  }

  /** Counts messages that were taken. */
  count(key: string, messages: number, now: number): void {
    const second = 1_000;
    const paidAt = Math.max(this.paidAt.get(key) ?? 0, now - second);
    this.paidAt.set(key, paidAt + (messages * second) / this.limit);
  }
}

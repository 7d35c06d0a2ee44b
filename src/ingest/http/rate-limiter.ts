/** Size up to which a message counts as one, in bytes. Requests with larger messages count by their bytes. */
const UNIT_BYTES = 1_024;
const SECOND = 1_000;

/** The size of a request. */
export interface RequestSize {
  messages: number;
  /** Bytes of all its messages together. */
  bytes: number;
}

/**
 * Limits the messages and the kilobytes per second of each key. The allowance of the `burst` may be used at once. A
 * request that exceeds the limit is taken as a whole, and later requests wait until the allowance has recovered. Times
 * are milliseconds of a monotonic clock: with a wall clock that is set back, everything would be refused until the
 * clock caught up.
 */
export class RateLimiter {
  /** Time at which the allowance of each key has recovered. */
  private readonly paidAt = new Map<string, number>();

  /**
   * @param limit messages per second, and as many KB per second
   * @param burst milliseconds whose allowance may be used at once
   */
  constructor(
    private readonly limit: number,
    private readonly burst = SECOND,
  ) {}

  /** Returns the milliseconds until the key may send again; 0 if it may send now. */
  wait(key: string, now: number): number {
    return Math.max((this.paidAt.get(key) ?? -Infinity) - now, 0);
  }

  /**
   * Counts a request, even if the key already has to wait: any number of requests may have begun before that. Together,
   * they make the key wait for no longer than the largest of them is worth.
   */
  count(key: string, { messages, bytes }: RequestSize, now: number): void {
    const paidAt = Math.max(this.paidAt.get(key) ?? -Infinity, now - this.burst);
    const cost = (Math.max(messages, bytes / UNIT_BYTES) * SECOND) / this.limit;
    this.paidAt.set(key, Math.min(paidAt + cost, Math.max(paidAt, now + cost)));
  }
}

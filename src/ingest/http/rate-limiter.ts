/** Bytes of a message that counts as one. Requests with larger messages count by their bytes. */
const UNIT_BYTES = 1_024;
const SECOND = 1_000;

/** The size of a request. */
export interface RequestSize {
  messages: number;
  /** Bytes of all its messages together. */
  bytes: number;
}

/**
 * Limits the messages and the kilobytes a second of each key. The allowance of a time may be used at once. A
 * request that exceeds the limit is taken as a whole, and later ones wait until the allowance has recovered.
 * Times are milliseconds of a monotonic clock: with a wall clock that is set back, everything would be
 * refused until it caught up.
 */
export class RateLimiter {
  /** When the allowance of each key has recovered. */
  private readonly paidAt = new Map<string, number>();

  /**
   * @param limit messages a second, and as many KB a second
   * @param burst milliseconds whose allowance may be used at once
   */
  constructor(
    private readonly limit: number,
    private readonly burst = SECOND,
  ) {}

  /** Milliseconds until the key may send again; 0 if it may now. */
  wait(key: string, now: number): number {
    return Math.max((this.paidAt.get(key) ?? -Infinity) - now, 0);
  }

  /** Counts a request that was read. */
  count(key: string, { messages, bytes }: RequestSize, now: number): void {
    const paidAt = Math.max(this.paidAt.get(key) ?? -Infinity, now - this.burst);
    const units = Math.max(messages, bytes / UNIT_BYTES);
    this.paidAt.set(key, paidAt + (units * SECOND) / this.limit);
  }
}

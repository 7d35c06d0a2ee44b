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

  /** Counts a request that was read. */
  count(key: string, { messages, bytes }: RequestSize, now: number): void {
    const paidAt = Math.max(this.paidAt.get(key) ?? -Infinity, now - this.burst);
    const units = Math.max(messages, bytes / UNIT_BYTES);
    this.paidAt.set(key, paidAt + (units * SECOND) / this.limit);
  }
}

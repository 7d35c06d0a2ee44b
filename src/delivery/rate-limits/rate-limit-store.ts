/**
 * What a destination did not use of its time may be used later, up to this many milliseconds: the answer of
 * the store takes a moment, and timers are late.
 */
export const CREDIT = 100;

/**
 * Shares the time of destinations with a `rateLimit` among all processes. A request takes as much of it as lies
 * between two requests at that rate.
 */
export interface RateLimitStore {
  /**
   * Reserves the next part of a destination's time that nobody has reserved.
   *
   * @param milliseconds its length
   * @returns milliseconds until it begins; below 0 if it began before now, by `CREDIT` at most
   */
  reserve(destination: string, milliseconds: number): Promise<number>;
}

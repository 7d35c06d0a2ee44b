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
   * Reserves the next part of a destination's time that nobody has reserved. A clock that is set back costs a moment.
   *
   * @param destination its id and its limit: with another limit, time restarts
   * @param milliseconds its length
   * @returns milliseconds until it begins; below 0 if it began before now, by `CREDIT` at most
   */
  reserve(destination: string, milliseconds: number): Promise<number>;
  /**
   * Forgets what was reserved under a limit that has changed since. Whoever may change one could otherwise fill a store
   * that all destinations share.
   */
  forget(destination: string): Promise<void>;
}

/**
 * Destinations that are remembered. When there are more, all are forgotten, which costs a moment of their
 * limits.
 */
const MAX_DESTINATIONS = 10_000;

/** The time of destinations in a process that has its queue for itself. */
export class LocalRateLimitStore implements RateLimitStore {
  /** Until when the time of each destination is reserved, by `performance.now()`. */
  private readonly reserved = new Map<string, number>();

  reserve(destination: string, milliseconds: number): Promise<number> {
    const now = performance.now();
    const start = Math.max(this.reserved.get(destination) ?? 0, now - CREDIT);
    if (this.reserved.size >= MAX_DESTINATIONS) this.reserved.clear();
    this.reserved.set(destination, start + milliseconds);
    return Promise.resolve(start - now);
  }

  forget(destination: string): Promise<void> {
    this.reserved.delete(destination);
    return Promise.resolve();
  }
}

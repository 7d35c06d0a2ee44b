/**
 * Most milliseconds of its unused time that a destination may use later: the answer of the store takes a moment, and
 * timers are late.
 */
export const CREDIT = 100;

/**
 * Shares the time of destinations with a `rateLimit` among all processes. A request takes as much time as lies between
 * two requests at that rate.
 */
export interface RateLimitStore {
  /**
   * Reserves the next part of a destination's time that nobody has reserved. A clock that is set back costs a moment.
   *
   * @param destination id and limit of the destination: with another limit, its time restarts
   * @param milliseconds length of the part
   * @returns milliseconds until the part begins; below 0 if it began before now, by `CREDIT` at most
   */
  reserve(destination: string, milliseconds: number): Promise<number>;
  /**
   * Forgets what was reserved under a limit that has changed since. Otherwise whoever may change limits could fill a
   * store that all destinations share.
   */
  forget(destination: string): Promise<void>;
}

/**
 * Most destinations that are remembered. If there are more, all are forgotten, and for a moment their limits do not
 * hold.
 */
const MAX_DESTINATIONS = 10_000;

/** Shares the time of destinations in a process that has its queue to itself. */
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

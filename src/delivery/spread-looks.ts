/** Jobs look again one by one at this interval, in milliseconds. */
const INTERVAL = 50;

/**
 * Spreads over time when jobs look again for destinations that this process cannot use: the more there are, the more
 * rarely each of them looks, so that a backlog costs the same whatever its length.
 */
export class SpreadLooks {
  /** When the last of them looks, in milliseconds since the epoch. */
  private last = 0;

  /**
   * @param shortest how long a job waits at least, in milliseconds
   * @param longest how long it waits at most
   */
  constructor(
    private readonly shortest: number,
    private readonly longest: number,
  ) {}

  /** When the next job looks again, in milliseconds since the epoch. */
  next(now: number): number {
    this.last = Math.min(Math.max(this.last + INTERVAL, now + this.shortest), now + this.longest);
    return this.last;
  }
}

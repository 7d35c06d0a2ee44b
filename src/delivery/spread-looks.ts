/** Jobs look again one by one at this interval, in milliseconds. */
const INTERVAL = 50;
/** How often those are looked for of which no job waits any more, in milliseconds. */
const SWEEP_INTERVAL = 1_000;

/**
 * Spreads over time when jobs look again that this process can do nothing with, such as those of a destination that
 * it cannot look up. The more there are, the more rarely each of them looks, so that a backlog costs the same whatever
 * its length. All that jobs wait for have equal shares of the looks: many jobs of one destination delay no other.
 */
export class SpreadLooks {
  /** When the last job looks that waits for each of these, in milliseconds since the epoch. */
  private readonly latest = new Map<string, number>();
  /** In milliseconds since the epoch. */
  private sweptAt = 0;

  /**
   * @param shortest how long a job waits at least, in milliseconds
   * @param longest how long it waits at most
   */
  constructor(
    private readonly shortest: number,
    private readonly longest: number,
  ) {}

  /**
   * When the next job looks again, in whole milliseconds since the epoch.
   *
   * @param awaited what it waits for: the id of a destination
   */
  next(awaited: string, now: number): number {
    this.sweep(now);
    const interval = INTERVAL * Math.max(this.latest.size, 1);
    const after = Math.max(this.latest.get(awaited) ?? now, now) + interval;
    const due = Math.ceil(Math.max(after, now + this.shortest));
    if (due > now + this.longest) return this.late(now);
    this.latest.set(awaited, due);
    return due;
  }

  /** There are too many to look one by one. They do not all return at the same moment. */
  private late(now: number): number {
    return Math.ceil(now + this.longest * (0.5 + Math.random() / 2));
  }

  private sweep(now: number): void {
    // Also where the clock was set back: otherwise all would be late until it caught up.
    if (Math.abs(now - this.sweptAt) < SWEEP_INTERVAL) return;
    this.sweptAt = now;
    for (const [awaited, latest] of this.latest) {
      if (latest <= now || latest > now + this.longest) this.latest.delete(awaited);
    }
  }
}

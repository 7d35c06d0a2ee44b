/** Twenty jobs a second: each of them is read and written. */
const DEFAULT_INTERVAL = 50;
/** How often those are looked for that nothing waits for any more, in milliseconds. */
const SWEEP_INTERVAL = 1_000;

export interface SpreadLooksOptions {
  /** How long a job waits at least, in milliseconds. */
  shortest: number;
  /** How long it waits at most. */
  longest: number;
  /** Time between two jobs, in milliseconds; 50 unless given. */
  interval?: number;
}

/**
 * Spreads over time when jobs, or rows, are looked at again that this process can do nothing with, such as those of a
 * destination that it cannot look up. The more there are, the more rarely each of them is looked at, so that a backlog
 * costs the same whatever its length. All that they wait for have equal shares of the looks: many jobs of one
 * destination delay no other.
 */
export class SpreadLooks {
  /** When the last job is looked at that waits for each of these, in milliseconds since the epoch. */
  private readonly latest = new Map<string, number>();
  /** In milliseconds since the epoch. */
  private sweptAt = 0;

  constructor(private readonly options: SpreadLooksOptions) {}

  /**
   * When the next job is looked at again, in whole milliseconds since the epoch.
   *
   * @param awaited what it waits for, such as the id of a destination
   */
  next(awaited: string, now: number): number {
    this.sweep(now);
    const { shortest, longest, interval = DEFAULT_INTERVAL } = this.options;
    const rest = interval * Math.max(this.latest.size, 1);
    const after = Math.max(this.latest.get(awaited) ?? now, now) + rest;
    const due = Math.ceil(Math.max(after, now + shortest));
    if (due > now + longest) return this.late(now);
    this.latest.set(awaited, due);
    return due;
  }

  /** There are too many to be looked at one by one. They do not all return at the same moment. */
  private late(now: number): number {
    return Math.ceil(now + this.options.longest * (0.5 + Math.random() / 2));
  }

  private sweep(now: number): void {
    // Even where the clock was set back: otherwise all would be late until it caught up.
    if (Math.abs(now - this.sweptAt) < SWEEP_INTERVAL) return;
    this.sweptAt = now;
    for (const [awaited, latest] of this.latest) {
      if (latest <= now || latest > now + this.options.longest) this.latest.delete(awaited);
    }
  }
}

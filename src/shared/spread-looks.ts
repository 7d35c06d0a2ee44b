/** Milliseconds between two jobs: twenty jobs a second, each of which is read and written. */
const DEFAULT_INTERVAL = 50;
/** Milliseconds between two searches for entries that no job waits for any more. */
const SWEEP_INTERVAL = 1_000;

export interface SpreadLooksOptions {
  /** How long a job waits at least, in milliseconds. */
  shortest: number;
  /** How long a job waits at most, in milliseconds. */
  longest: number;
  /** Time between two jobs, in milliseconds; 50 unless given. */
  interval?: number;
}

/**
 * Spreads the looks at jobs or rows that this process can do nothing with, such as those of a destination that it
 * cannot look up. The more there are, the more rarely each of them is looked at, so that a backlog costs the same
 * whatever its length. Everything that jobs wait for has an equal share of the looks: many jobs of one destination
 * delay no other.
 */
export class SpreadLooks {
  /** Time of the latest scheduled look, in milliseconds since the epoch, by what the jobs wait for. */
  private readonly latest = new Map<string, number>();
  /** In milliseconds since the epoch. */
  private sweptAt = 0;

  constructor(private readonly options: SpreadLooksOptions) {}

  /**
   * Returns when the next job is looked at again, in whole milliseconds since the epoch.
   *
   * @param awaited what the job waits for, such as the id of a destination
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

  /** Returns a random time, since too many jobs wait to be looked at one by one, and must not all return at once. */
  private late(now: number): number {
    return Math.ceil(now + this.options.longest * (0.5 + Math.random() / 2));
  }

  private sweep(now: number): void {
    // Also sweeps if the clock was set back: otherwise all jobs would be late until it caught up.
    if (Math.abs(now - this.sweptAt) < SWEEP_INTERVAL) return;
    this.sweptAt = now;
    for (const [awaited, latest] of this.latest) {
      if (latest <= now || latest > now + this.options.longest) this.latest.delete(awaited);
    }
  }
}

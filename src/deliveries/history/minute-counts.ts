import type { MinuteTotals, RecentDelivery } from './history.types.js';
import type { StoredPeriods } from './history-store.js';
import type { StoredCounts } from './hour-counts.js';

/** In milliseconds. */
export const MINUTE = 60_000;
/** Number of minutes that are kept, including the current minute: an hour more than is returned. */
export const KEPT_MINUTES = 2 * 60;

/** Returns the number of the minute of a time, counted from the epoch. */
export function minuteOf(now: number): number {
  return Math.floor(now / MINUTE);
}

/** Returns the number of the first minute that is kept. */
export function oldestMinute(now: number): number {
  return minuteOf(now) - KEPT_MINUTES + 1;
}

/** Returns the stored counts of a minute in the form for callers. */
export function totalsOfMinute(
  minute: number,
  { delivered = 0, retried = 0, failed = 0 }: StoredCounts = {},
  waiting?: number,
): MinuteTotals {
  return { minute: minute * MINUTE, delivered, retried, failed, waiting };
}

/** What happened at all destinations together in each minute, in this process and since it was last written. */
export class MinuteCounts {
  private readonly minutes = new Map<number, Record<string, number>>();

  /** Counts what became of messages at a time, in milliseconds since the epoch. */
  count(state: RecentDelivery['state'], messages: number, now: number): void {
    const counts = this.countsOf(minuteOf(now));
    add(counts, state === 'retrying' ? 'retried' : state, messages);
  }

  /** Adds what happened later, and drops what is no longer kept. */
  absorb(later: MinuteCounts, now: number): void {
    for (const [minute, counts] of later.minutes) {
      const sums = this.countsOf(minute);
      for (const [name, count] of Object.entries(counts)) add(sums, name, count);
    }
    const oldest = oldestMinute(now);
    for (const minute of this.minutes.keys()) if (minute < oldest) this.minutes.delete(minute);
  }

  get isEmpty(): boolean {
    return this.minutes.size === 0;
  }

  get stored(): StoredPeriods {
    return [...this.minutes];
  }

  private countsOf(minute: number): Record<string, number> {
    let counts = this.minutes.get(minute);
    if (counts === undefined) this.minutes.set(minute, (counts = {}));
    return counts;
  }
}

function add(counts: Record<string, number>, name: string, count: number): void {
  counts[name] = (counts[name] ?? 0) + count;
}

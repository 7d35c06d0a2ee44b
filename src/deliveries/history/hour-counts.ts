import type { UrlOutcome } from '../../queue/batch-job.js';
import { bucketOf, percentilesOf } from './duration-histogram.js';
import type { HourStats, RecentDelivery } from './history.types.js';

/** In milliseconds. */
export const HOUR = 3_600_000;
/** Number of hours that are kept: seven days, including the current hour. */
export const KEPT_HOURS = 7 * 24;

/** The counts of an hour as they are stored, by name. The name of a bucket of durations is its number. */
export type StoredCounts = Readonly<Record<string, number>>;

/** Returns the number of the hour of a time, counted from the epoch. */
export function hourOf(now: number): number {
  return Math.floor(now / HOUR);
}

/** Returns the number of the first hour that is kept. */
export function oldestHour(now: number): number {
  return hourOf(now) - KEPT_HOURS + 1;
}

/** Parses counts that a store wrote. */
export function parseCounts(json: string): StoredCounts {
  // Only the stores write these texts.
  return JSON.parse(json) as StoredCounts;
}

/** What happened at one destination in one hour. */
export class HourCounts {
  private delivered = 0;
  private retried = 0;
  private failed = 0;
  private readonly durations = new Map<number, number>();

  /** Creates counts from those in the store, which are of all processes. */
  static of({ delivered = 0, retried = 0, failed = 0, ...buckets }: StoredCounts): HourCounts {
    const counts = new HourCounts();
    Object.assign(counts, { delivered, retried, failed });
    for (const [bucket, count] of Object.entries(buckets)) counts.durations.set(Number(bucket), count);
    return counts;
  }

  /** Counts what became of a message, and the attempts that led to it. */
  count(state: RecentDelivery['state'], attempts: readonly UrlOutcome[]): void {
    if (state === 'delivered') this.delivered++;
    else if (state === 'retrying') this.retried++;
    else this.failed++;
    for (const { duration } of attempts) this.countDuration(bucketOf(duration), 1);
  }

  add(other: HourCounts): void {
    this.delivered += other.delivered;
    this.retried += other.retried;
    this.failed += other.failed;
    for (const [bucket, count] of other.durations) this.countDuration(bucket, count);
  }

  /** The counts that are not 0. */
  get stored(): StoredCounts {
    const counts: Record<string, number> = {};
    if (this.delivered > 0) counts.delivered = this.delivered;
    if (this.retried > 0) counts.retried = this.retried;
    if (this.failed > 0) counts.failed = this.failed;
    for (const [bucket, count] of this.durations) counts[bucket] = count;
    return counts;
  }

  /** @param hour number of the hour, counted from the epoch */
  statsOf(hour: number): HourStats {
    const { delivered, retried, failed, durations } = this;
    return { hour: hour * HOUR, delivered, retried, failed, durations: percentilesOf(durations) };
  }

  private countDuration(bucket: number, count: number): void {
    this.durations.set(bucket, (this.durations.get(bucket) ?? 0) + count);
  }
}

import type { DurationPercentiles } from './history.types.js';

/** Buckets for each doubling of a duration: the middle of a bucket is within 9 % of all durations in it. */
const BUCKETS_PER_DOUBLING = 4;
/** The last bucket ends at 2^18 ms, which is more than four minutes. No request may take that long. */
const LAST_BUCKET = 18 * BUCKETS_PER_DOUBLING;

/** Counts by bucket number. */
export type BucketCounts = ReadonlyMap<number, number>;

/** Returns the bucket of a duration in milliseconds: 0 for up to one, then four buckets for each doubling. */
export function bucketOf(duration: number): number {
  if (duration <= 1) return 0;
  return Math.min(Math.ceil(Math.log2(duration) * BUCKETS_PER_DOUBLING), LAST_BUCKET);
}

/** Returns the percentiles of the counted durations, or `undefined` if there are none. */
export function percentilesOf(counts: BucketCounts): DurationPercentiles | undefined {
  const buckets = [...counts].sort(([one], [other]) => one - other);
  const total = buckets.reduce((sum, [, count]) => sum + count, 0);
  if (total === 0) return undefined;
  const at = (share: number): number => {
    let rest = Math.ceil(total * share);
    const found = buckets.find(([, count]) => (rest -= count) <= 0);
    return middleOf(found?.[0] ?? LAST_BUCKET);
  };
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

function middleOf(bucket: number): number {
  return bucket === 0 ? 1 : Number((2 ** ((bucket - 0.5) / BUCKETS_PER_DOUBLING)).toPrecision(3));
}

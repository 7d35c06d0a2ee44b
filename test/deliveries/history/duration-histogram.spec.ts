import { describe, expect, it } from '@jest/globals';
import { bucketOf, percentilesOf } from '../../../src/deliveries/history/duration-histogram.js';

function countsOf(durations: readonly number[]): Map<number, number> {
  const counts = new Map<number, number>();
  for (const duration of durations) {
    const bucket = bucketOf(duration);
    counts.set(bucket, (counts.get(bucket) ?? 0) + 1);
  }
  return counts;
}

describe('the durations of attempts', () => {
  it('are accurate to within 10 %, with few buckets', () => {
    const buckets = new Set<number>();
    for (let duration = 1; duration <= 200_000; duration = Math.ceil(duration * 1.01)) {
      buckets.add(bucketOf(duration));
      const { p50 } = percentilesOf(countsOf([duration])) ?? { p50: NaN };
      expect(Math.abs(p50 / duration - 1)).toBeLessThan(0.1);
    }
    expect(buckets.size).toBeLessThanOrEqual(73);
  });

  it('have percentiles within which half, 95 % and 99 % of the attempts ended', () => {
    const durations = Array.from({ length: 1_000 }, (_, index) => index + 1);
    const { p50, p95, p99 } = percentilesOf(countsOf(durations)) ?? { p50: NaN, p95: NaN, p99: NaN };
    expect(Math.abs(p50 / 500 - 1)).toBeLessThan(0.1);
    expect(Math.abs(p95 / 950 - 1)).toBeLessThan(0.1);
    expect(Math.abs(p99 / 990 - 1)).toBeLessThan(0.1);
  });

  it.each([
    ['nothing', 0, 1],
    ['a millisecond', 1, 1],
    ['longer than any request may take', 10 ** 9, 240_000],
  ])('have a bucket when they are %s', (_, duration, told) => {
    expect(percentilesOf(countsOf([duration]))).toEqual({ p50: told, p95: told, p99: told });
  });

  it('have no percentiles if there were no attempts', () => {
    expect(percentilesOf(new Map())).toBeUndefined();
  });
});

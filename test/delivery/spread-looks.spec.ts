import { describe, expect, it } from '@jest/globals';
import { SpreadLooks } from '../../src/delivery/spread-looks.js';

describe('jobs that look again for their destinations', () => {
  it('do so one by one, after the shortest time at first', () => {
    const looks = new SpreadLooks(5_000, 300_000);
    expect([1_000, 1_000, 1_020].map((now) => looks.next(now))).toEqual([6_000, 6_050, 6_100]);
    // None waits any more.
    expect(looks.next(10_000)).toBe(15_000);
  });

  it('wait no longer than the longest time, however many they are', () => {
    const looks = new SpreadLooks(5_000, 300_000);
    const times = Array.from({ length: 10_000 }, () => looks.next(0));
    expect(times.at(-1)).toBe(300_000);
    expect(times[5_000]).toBe(255_000);
  });
});

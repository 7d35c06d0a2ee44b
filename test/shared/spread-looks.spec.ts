import { describe, expect, it } from '@jest/globals';
import { SpreadLooks } from '../../src/shared/spread-looks.js';

describe('times at which jobs are looked at again', () => {
  it('are spread one by one, after the shortest delay at first', () => {
    const looks = new SpreadLooks({ shortest: 5_000, longest: 300_000 });
    expect([1_000, 1_000, 1_020].map((now) => looks.next('crm', now))).toEqual([6_000, 6_050, 6_100]);
    // No job waits any more.
    expect(looks.next('crm', 10_000)).toBe(15_000);
  });

  it('are never later than the longest delay, however many jobs there are, and do not all fall at its end', () => {
    const looks = new SpreadLooks({ shortest: 5_000, longest: 300_000 });
    const times = Array.from({ length: 100_000 }, () => looks.next('crm', 0));
    expect(Math.max(...times)).toBe(300_000);
    expect(times[5_000]).toBe(255_000);
    const perSecond = new Map<number, number>();
    for (const time of times) {
      const second = Math.floor(time / 1_000);
      perSecond.set(second, (perSecond.get(second) ?? 0) + 1);
    }
    expect(Math.max(...perSecond.values())).toBeLessThan(1_000);
  });

  it('depend on the jobs of their own destination, not on the many jobs of another', () => {
    const looks = new SpreadLooks({ shortest: 5_000, longest: 300_000 });
    for (let n = 0; n < 100_000; n++) looks.next('backlog', 0);
    expect(looks.next('crm', 0)).toBe(5_000);
  });

  it('are twenty in a second in total, even if each job waits for a destination of its own', () => {
    const looks = new SpreadLooks({ shortest: 5_000, longest: 300_000 });
    const times = Array.from({ length: 1_000 }, (_, n) => looks.next(`hook-${n}`, 0)).sort((a, b) => a - b);
    // The first hundred or so come within the shortest delay.
    const rest = times.filter((time) => time > 5_000);
    expect(rest.length).toBeGreaterThan(850);
    rest.forEach((time, index) => {
      if (index > 0) expect(time - (rest[index - 1] ?? 0)).toBeGreaterThanOrEqual(50);
    });
  });

  it('are not delayed by a clock that was set back', () => {
    const looks = new SpreadLooks({ shortest: 5_000, longest: 300_000 });
    looks.next('crm', 10_000_000);
    expect(looks.next('crm', 1_000)).toBe(6_000);
  });
});

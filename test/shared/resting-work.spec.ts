import { describe, expect, it } from '@jest/globals';
import { RestingWork } from '../../src/shared/resting-work.js';
import { FakeClock } from '../support/fake-clock.js';

/** How long the work takes, in milliseconds. */
const DURATION = 1_000;

describe('work that rests', () => {
  /** Work that results in how often it was begun. */
  function open(): { clock: FakeClock; work: RestingWork<number> } {
    const clock = new FakeClock();
    let begun = 0;
    const work = new RestingWork(() => {
      const result = ++begun;
      return new Promise<number>((resolve) => {
        clock.after(DURATION, () => {
          resolve(result);
        });
      });
    }, clock);
    return { clock, work };
  }

  it('is done once for all who ask while it goes on', async () => {
    const { clock, work } = open();
    const results = [work.result(), work.result()];
    await clock.pass(DURATION / 2);
    results.push(work.result());
    await clock.pass(DURATION / 2);
    expect(await Promise.all(results)).toEqual([1, 1, 1]);
  });

  it('is not done again until it has rested twenty times as long as it took', async () => {
    const { clock, work } = open();
    const first = work.result();
    await clock.pass(DURATION);
    expect(await first).toBe(1);
    await clock.pass(20 * DURATION - 1);
    expect(await work.result()).toBe(1);
    await clock.pass(1);
    const second = work.result();
    await clock.pass(DURATION);
    expect(await second).toBe(2);
  });

  it('does not rest after it failed', async () => {
    const clock = new FakeClock();
    const ends: ((error: Error) => void)[] = [];
    const work = new RestingWork(() => new Promise<never>((_, reject) => ends.push(reject)), clock);
    const first = work.result();
    await clock.pass(DURATION);
    ends[0]?.(new Error('The queue is away.'));
    await expect(first).rejects.toThrow('The queue is away.');
    work.result().catch(() => undefined);
    expect(ends).toHaveLength(2);
  });

  it('rests for ten minutes at most, however long an outage has made it take', async () => {
    const clock = new FakeClock();
    let end: (result: string) => void = () => undefined;
    const work = new RestingWork(() => new Promise<string>((resolve) => (end = resolve)), clock);
    const first = work.result();
    await clock.pass(3_600_000);
    end('after the outage');
    expect(await first).toBe('after the outage');
    await clock.pass(600_000);
    const second = work.result();
    end('later');
    expect(await second).toBe('later');
  });
});

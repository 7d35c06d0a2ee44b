import { describe, expect, it } from '@jest/globals';
import { RestingWork } from '../../src/shared/resting-work.js';
import { FakeClock } from '../support/fake-clock.js';

/** Duration of the work, in milliseconds. */
const DURATION = 1_000;

describe('work that rests', () => {
  /** Work whose result is how often it was started. */
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

  it('is done once for all callers while it is in progress', async () => {
    const { clock, work } = open();
    const results = [work.result(), work.result()];
    await clock.pass(DURATION / 2);
    results.push(work.result());
    await clock.pass(DURATION / 2);
    expect(await Promise.all(results)).toEqual([1, 1, 1]);
  });

  it('is not repeated until it has rested twenty times as long as it took', async () => {
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

  /** Work that fails, with the number of its starts. */
  function openFailing(duration: number): {
    clock: FakeClock;
    work: RestingWork<never>;
    begun: () => number;
  } {
    const clock = new FakeClock();
    let begun = 0;
    const work = new RestingWork(() => {
      begun++;
      return new Promise<never>((_, reject) => {
        clock.after(duration, () => {
          reject(new Error('The queue is away.'));
        });
      });
    }, clock);
    return { clock, work, begun: () => begun };
  }

  it('rests just as long after a failure, and rejects with that failure meanwhile', async () => {
    const { clock, work, begun } = openFailing(DURATION);
    const first = expect(work.result()).rejects.toThrow('The queue is away.');
    await clock.pass(DURATION);
    await first;
    await clock.pass(20 * DURATION - 1);
    const meanwhile = expect(work.result()).rejects.toThrow('The queue is away.');
    expect(begun()).toBe(1);
    await meanwhile;
    await clock.pass(1);
    work.result().catch(() => undefined);
    expect(begun()).toBe(2);
  });

  it('rests for at most a minute after a failure', async () => {
    const { clock, work, begun } = openFailing(60_000);
    const first = expect(work.result()).rejects.toThrow('The queue is away.');
    await clock.pass(60_000);
    await first;
    await clock.pass(59_999);
    const meanwhile = expect(work.result()).rejects.toThrow('The queue is away.');
    expect(begun()).toBe(1);
    await meanwhile;
    await clock.pass(1);
    work.result().catch(() => undefined);
    expect(begun()).toBe(2);
  });

  it('rests for at most ten minutes, however long an outage has made it take', async () => {
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

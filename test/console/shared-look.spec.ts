import { beforeEach, describe, expect, it } from '@jest/globals';
import { SharedLook } from '../../src/console/shared-look.js';
import { FakeClock } from '../support/fake-clock.js';

const SECOND = 1_000;

describe('a look that pages share', () => {
  let clock: FakeClock;
  /** How long a look takes. */
  let duration: number;
  let begun: number;
  /** The number of a look that fails. */
  let failing: number | undefined;
  let going: number;
  let mostAtOnce: number;
  let shared: SharedLook<number>;

  beforeEach(() => {
    clock = new FakeClock();
    [duration, begun, going, mostAtOnce] = [0, 0, 0, 0];
    failing = undefined;
    shared = new SharedLook(look, clock);
  });

  /** Takes a look, and resolves to its number. */
  function look(): Promise<number> {
    const number = ++begun;
    mostAtOnce = Math.max(mostAtOnce, ++going);
    return new Promise((resolve, reject) => {
      clock.after(duration, () => {
        going--;
        if (number === failing) reject(new Error('The database is away'));
        else resolve(number);
      });
    });
  }

  it('happens once at a time, however long it takes and however many pages ask each second', async () => {
    duration = 5 * SECOND;
    const shown: Promise<number>[] = [];
    for (let second = 0; second < 30; second++) {
      for (let page = 0; page < 3; page++) shown.push(shared.take());
      await clock.pass(SECOND);
    }
    await clock.pass(2 * duration);
    const numbers = await Promise.all(shown);
    expect(mostAtOnce).toBe(1);
    expect(numbers).toEqual([...numbers].sort((one, other) => one - other));
    expect(begun).toBeLessThanOrEqual(7);
  });

  it('is not followed by another one that nobody would wait for, even if it fails', async () => {
    duration = 6 * SECOND;
    failing = 1;
    const first = shared.take();
    first.catch(() => undefined);
    await clock.pass(2 * SECOND);
    const asked = shared.take();
    const ends = [expect(first).rejects.toThrow('away'), expect(asked).rejects.toThrow('away')];
    await clock.pass(4 * SECOND);
    await Promise.all(ends);
    expect(begun).toBe(1);
  });

  it('is shown for a second after its end', async () => {
    duration = SECOND / 2;
    const first = shared.take();
    await clock.pass(duration + SECOND - 1);
    expect(await shared.take()).toBe(await first);
    await clock.pass(1);
    const second = shared.take();
    await clock.pass(duration);
    expect(await second).toBe(2);
  });

  it('is not shown to those who ask more than a second after its start, while it goes on', async () => {
    duration = 2 * SECOND;
    const first = shared.take();
    await clock.pass(SECOND - 1);
    const soon = shared.take();
    await clock.pass(1);
    const late = shared.take();
    await clock.pass(2 * duration);
    expect(await Promise.all([first, soon, late])).toEqual([1, 1, 2]);
  });

  it('is shown to those who ask while it goes on if it takes longer than three seconds', async () => {
    duration = 6 * SECOND;
    const first = shared.take();
    await clock.pass(2 * SECOND);
    const late = shared.take();
    await clock.pass(2 * SECOND);
    const later = shared.take();
    await clock.pass(2 * SECOND);
    expect(begun).toBe(1);
    expect(await Promise.all([first, late, later])).toEqual([1, 1, 1]);
    await clock.pass(SECOND);
    const next = shared.take();
    await clock.pass(duration);
    expect(await next).toBe(2);
  });

  it('is followed by the next one even if it fails', async () => {
    failing = 1;
    duration = 2 * SECOND;
    const failed = shared.take().catch((error: unknown) => error);
    await clock.pass(SECOND);
    const late = shared.take();
    await clock.pass(2 * duration);
    expect(await failed).toEqual(new Error('The database is away'));
    expect(await late).toBe(2);
  });

  it('leaves the database alone for half of the time, however many watch', async () => {
    duration = 6 * SECOND;
    const seen: Promise<number>[] = [];
    for (let second = 0; second < 60; second++) {
      for (let page = 0; page < 3; page++) seen.push(shared.watch());
      await clock.pass(SECOND);
    }
    await clock.pass(duration);
    const numbers = await Promise.all(seen);
    expect(numbers).toEqual([...numbers].sort((one, other) => one - other));
    expect(begun).toBe(5);
  });

  it('begins again for those who watch, at the latest ten seconds after its end', async () => {
    duration = 60 * SECOND;
    const first = shared.watch();
    await clock.pass(duration + 10 * SECOND - 1);
    expect(shared.watch()).toBe(first);
    await clock.pass(1);
    const second = shared.watch();
    await clock.pass(duration);
    expect(await second).toBe(2);
  });
});

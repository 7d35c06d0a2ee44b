import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Deadline } from '../../src/shared/deadline.js';

/** Length of a turn of the event loop on the fake clock. Late work is given one more turn. */
const TURN = 1;

/** Records when it expired, in milliseconds since the start of the test. */
class Work {
  expiredAt: number | undefined;

  constructor(private readonly start = performance.now()) {}

  expire(): void {
    this.expiredAt = performance.now() - this.start;
  }
}

describe('a deadline', () => {
  let deadline: Deadline;

  beforeEach(() => {
    jest.useFakeTimers();
    deadline = new Deadline();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('ends work once when its time is over', () => {
    const work = new Work();
    deadline.set(work, performance.now() + 500);
    jest.advanceTimersByTime(499);
    expect(work.expiredAt).toBeUndefined();
    jest.advanceTimersByTime(1 + TURN);
    expect(work.expiredAt).toBe(500 + TURN);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('ignores work that is done, and gives the next work its own time', () => {
    const [done, next] = [new Work(), new Work()];
    deadline.set(done, performance.now() + 500);
    jest.advanceTimersByTime(400);
    deadline.clear();
    deadline.set(next, performance.now() + 500);
    jest.advanceTimersByTime(1_000);
    expect([done.expiredAt, next.expiredAt]).toEqual([undefined, 900 + TURN]);
  });

  it('ignores work that is done in the turn of the event loop in which it is late', () => {
    const [late, next] = [new Work(), new Work()];
    deadline.set(late, performance.now() + 500);
    jest.advanceTimersByTime(500);
    deadline.clear();
    deadline.set(next, performance.now() + 500);
    jest.advanceTimersByTime(1_000);
    expect([late.expiredAt, next.expiredAt]).toEqual([undefined, 1_000 + TURN]);
  });

  it('can be moved forward', () => {
    const work = new Work();
    deadline.set(work, performance.now() + 5_000);
    deadline.set(work, performance.now() + 250);
    jest.advanceTimersByTime(250 + TURN);
    expect(work.expiredAt).toBe(250 + TURN);
  });

  it('sets no timer in the past, which Node warns about, if it is over when it is set', () => {
    const timers = jest.spyOn(globalThis, 'setTimeout');
    const work = new Work();
    deadline.set(work, performance.now() - 400);
    expect(timers).toHaveBeenCalledWith(expect.any(Function), 0);
    timers.mockRestore();
    jest.advanceTimersByTime(2 * TURN);
    expect(work.expiredAt).toBeLessThanOrEqual(2 * TURN);
  });

  it('does not start a timer for each piece of work that is in time', () => {
    const timers = jest.spyOn(globalThis, 'setTimeout');
    for (let n = 0; n < 100; n++) {
      deadline.set(new Work(), performance.now() + 5_000);
      jest.advanceTimersByTime(1);
      deadline.clear();
    }
    expect(timers).toHaveBeenCalledTimes(1);
    timers.mockRestore();
  });
});

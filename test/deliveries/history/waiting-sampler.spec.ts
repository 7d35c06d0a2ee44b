import { beforeEach, describe, expect, it } from '@jest/globals';
import { WaitingSampler } from '../../../src/deliveries/history/waiting-sampler.js';
import { FakeClock } from '../../support/fake-clock.js';

const MINUTE = 60_000;
const NOW = 490_000 * 60 * MINUTE;

describe('a process that counts the waiting messages', () => {
  let clock: FakeClock;
  let waiting: () => Promise<number>;
  let isOurTurn: boolean;
  let looks: number;
  /** What was noted: the minute, and the number of messages. */
  let noted: [minute: number, messages: number][];
  let failure: Error | undefined;
  let sampler: WaitingSampler;

  beforeEach(() => {
    clock = new FakeClock();
    waiting = () => Promise.resolve(0);
    isOurTurn = true;
    looks = 0;
    noted = [];
    failure = undefined;
    sampler = new WaitingSampler({
      clock,
      now: () => NOW + clock.now(),
      backlogs: {
        claim: () => Promise.resolve(isOurTurn),
        waiting: () => {
          looks++;
          return waiting();
        },
      },
      store: {
        noteWaiting: (messages, now) => {
          if (failure !== undefined) return Promise.reject(failure);
          noted.push([Math.floor((now - NOW) / MINUTE), messages]);
          return Promise.resolve();
        },
      },
    });
    sampler.start();
  });

  it('notes the number soon after its start, and once a minute while nothing changes', async () => {
    await clock.pass(2_000);
    expect(noted).toEqual([[0, 0]]);
    await clock.pass(2 * MINUTE);
    expect(noted).toEqual([
      [0, 0],
      [1, 0],
      [2, 0],
    ]);
    expect(looks).toBeGreaterThan(10);
  });

  it('notes the highest number of each minute', async () => {
    const counts = [5, 40, 12, 80, 3];
    waiting = () => Promise.resolve(counts.shift() ?? 3);
    await clock.pass(2 * MINUTE);
    expect(noted).toEqual([
      [0, 5],
      [0, 40],
      [0, 80],
      [1, 3],
    ]);
  });

  it('does not count if another process has just counted', async () => {
    isOurTurn = false;
    await clock.pass(MINUTE);
    expect([looks, noted]).toEqual([0, []]);
    isOurTurn = true;
    await clock.pass(MINUTE / 2);
    expect(noted).toEqual([[1, 0]]);
  });

  it('notes a number again if it could not be stored', async () => {
    failure = new Error('away');
    await clock.pass(MINUTE / 2);
    failure = undefined;
    await clock.pass(MINUTE / 4);
    expect(noted).toEqual([[0, 0]]);
  });

  it('waits for a database that does not answer, and goes on when it answers', async () => {
    let answer: (messages: number) => void = () => undefined;
    waiting = () => new Promise((resolve) => (answer = resolve));
    await clock.pass(10 * MINUTE);
    expect(looks).toBe(1);
    answer(7);
    await clock.pass(MINUTE);
    // The number belongs to the minute in which the answer came.
    expect(noted).toEqual([[10, 7]]);
    expect(looks).toBe(2);
  });

  it('does not keep the process alive, and stops when it is closed', async () => {
    expect(clock.holding).toBe(0);
    await clock.pass(MINUTE);
    sampler.close();
    expect(clock.pending).toBe(0);
  });

  it('stops even if its last count has not been answered', async () => {
    let answer: (messages: number) => void = () => undefined;
    waiting = () => new Promise((resolve) => (answer = resolve));
    await clock.pass(2_000);
    sampler.close();
    answer(7);
    await clock.pass(MINUTE);
    expect([looks, clock.pending]).toEqual([1, 0]);
  });
});

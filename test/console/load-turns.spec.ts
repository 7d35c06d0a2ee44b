import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { LoadTurns } from '../../src/console/page/load-turns.js';

describe('what a page loads', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  /** Returns turns whose renewals take `took` milliseconds, and the name and time of everything that has begun. */
  function turnsOf(took: number, isRefused = false): { turns: LoadTurns; begun: [string, number][] } {
    const begun: [string, number][] = [];
    const zero = performance.now();
    const turns = new LoadTurns(async () => {
      begun.push(['renewal', performance.now() - zero]);
      await pause(took);
      return isRefused;
    });
    return { turns, begun };
  }

  const pause = (milliseconds: number): Promise<void> =>
    new Promise((resolve) => {
      setTimeout(resolve, milliseconds);
    });

  it('is renewed at once, and then after three times as long as it took', async () => {
    const { turns, begun } = turnsOf(1_000);
    turns.renewSoon();
    await jest.advanceTimersByTimeAsync(500);
    turns.renewSoon();
    turns.renewSoon();
    await jest.advanceTimersByTimeAsync(60_000);
    expect(begun).toEqual([
      ['renewal', 0],
      ['renewal', 4_000],
    ]);
  });

  it('is renewed again after a pause of half a minute at most', async () => {
    const { turns, begun } = turnsOf(60_000);
    turns.renewSoon();
    await jest.advanceTimersByTimeAsync(1);
    turns.renewSoon();
    await jest.advanceTimersByTimeAsync(120_000);
    expect(begun.map(([, at]) => at)).toEqual([0, 90_000]);
  });

  it('is renewed again two seconds after a renewal was refused', async () => {
    const { turns, begun } = turnsOf(10, true);
    turns.renewSoon();
    await jest.advanceTimersByTimeAsync(5_000);
    expect(begun.map(([, at]) => at)).toEqual([0, 2_010, 4_020]);
    turns.close();
    await jest.advanceTimersByTimeAsync(5_000);
    expect(begun).toHaveLength(3);
  });

  it('is loaded at once when a reader asks, in place of a renewal in progress, and needs no pause afterwards', async () => {
    const { turns, begun } = turnsOf(1_000);
    turns.renewSoon();
    await jest.advanceTimersByTimeAsync(500);
    const signals: AbortSignal[] = [];
    const load = async (): Promise<void> => {
      await turns.load((signal) => {
        signals.push(signal);
        return pause(100);
      });
    };
    const loads = [load(), load()];
    await jest.advanceTimersByTimeAsync(100);
    await Promise.all(loads);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    turns.renewSoon();
    await jest.advanceTimersByTimeAsync(10);
    expect(begun.map(([, at]) => at)).toEqual([0, 600]);
  });

  it('is no longer loaded once it is closed', async () => {
    const { turns } = turnsOf(10);
    turns.close();
    let loads = 0;
    await turns.load(() => Promise.resolve(loads++));
    expect(loads).toBe(0);
  });
});

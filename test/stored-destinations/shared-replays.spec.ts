import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { SharedReplays } from '../../src/stored-destinations/shared-replays.js';

describe('replays of messages kept for destinations', () => {
  let begun: string[][];
  let ends: (() => void)[];
  let skipped: Map<string, Error>;
  let replays: SharedReplays;

  beforeEach(() => {
    jest.useFakeTimers();
    begun = [];
    ends = [];
    skipped = new Map();
    replays = new SharedReplays((ids) => {
      begun.push([...ids]);
      return new Promise((resolve) => {
        ends.push(() => {
          resolve(skipped);
        });
      });
    });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('begin when the previous replay is done, for all callers in the meantime', async () => {
    void replays.of('first');
    await jest.advanceTimersByTimeAsync(0);
    void replays.of('second');
    void replays.of('third');
    await jest.advanceTimersByTimeAsync(1_000);
    expect(begun).toEqual([['first']]);
    ends[0]?.();
    await jest.advanceTimersByTimeAsync(0);
    expect(begun).toEqual([['first'], ['second', 'third']]);
  });

  it('do not wait for a replay that takes long', async () => {
    void replays.of('of many messages');
    await jest.advanceTimersByTimeAsync(0);
    void replays.of('of another tenant');
    await jest.advanceTimersByTimeAsync(6_000);
    expect(begun).toEqual([['of many messages'], ['of another tenant']]);
  });

  it('reject for the destination that could not be looked up, and for no other', async () => {
    const done = Promise.allSettled([replays.of('hangs'), replays.of('answers')]);
    await jest.advanceTimersByTimeAsync(0);
    skipped.set('hangs', new Error('no answer'));
    ends[0]?.();
    expect(await done).toMatchObject([{ reason: new Error('no answer') }, { status: 'fulfilled' }]);
  });

  it('are at most three at once, and the next replay is for all callers in the meantime', async () => {
    for (const id of ['first', 'second', 'third', 'fourth', 'fifth']) {
      void replays.of(id);
      await jest.advanceTimersByTimeAsync(6_000);
    }
    expect(begun).toEqual([['first'], ['second'], ['third']]);
    ends[1]?.();
    await jest.advanceTimersByTimeAsync(0);
    expect(begun.slice(3)).toEqual([['fourth', 'fifth']]);
  });
});

import { beforeEach, describe, expect, it } from '@jest/globals';
import { DestinationsEnd } from '../../src/stored-destinations/destinations-end.js';
import { HistoryRemoval } from '../../src/stored-destinations/history-removal.js';
import { deferred } from '../support/deferred.js';
import { FakeClock } from '../support/fake-clock.js';

describe('the history of a deleted destination', () => {
  let clock: FakeClock;
  let removal: HistoryRemoval;
  let removed: string[];
  let failed: unknown[];
  let answer: Promise<void>;

  beforeEach(() => {
    clock = new FakeClock();
    removed = [];
    failed = [];
    answer = Promise.resolve();
    removal = new HistoryRemoval({
      discard: (id) => removed.push(`unwritten ${id}`),
      forget: (id) => {
        removed.push(`stored ${id}`);
        return answer;
      },
      onFailed: (error) => failed.push(error),
      clock,
    });
  });

  const ALL = ['unwritten crm', 'stored crm'];

  it('is removed at once, and again a little later for pending writes, without keeping the process alive', async () => {
    await removal.remove('crm');
    expect(removed).toEqual(ALL);
    expect(clock.holding).toBe(0);
    await clock.pass(10_000);
    expect(removed).toEqual([...ALL, ...ALL]);
    expect(clock.pending).toBe(0);
  });

  it('is removed again before the process ends', async () => {
    await removal.remove('crm');
    await removal.finish();
    expect(removed).toEqual([...ALL, ...ALL]);
    expect(clock.pending).toBe(0);
    removal.close();
    await removal.remove('crm');
    expect(clock.pending).toBe(0);
  });

  it('is removed before the process ends if its store was away at the deletion', async () => {
    const isBack = deferred();
    answer = isBack.promise;
    const removing = removal.remove('crm');
    const finishing = removal.finish();
    expect(removed).toEqual([...ALL, ...ALL]);
    isBack.resolve();
    await Promise.all([removing, finishing]);
    removal.close();
    expect(clock.pending).toBe(0);
  });

  it('is removed before the process ends if the second removal is in progress', async () => {
    await removal.remove('crm');
    const isBack = deferred();
    answer = isBack.promise;
    await clock.pass(10_000);
    const events: string[] = [];
    const finishing = removal.finish().then(() => events.push('finished'));
    await clock.pass(0);
    events.push('answered');
    isBack.resolve();
    await finishing;
    expect(events).toEqual(['answered', 'finished']);
    expect(removed).toEqual([...ALL, ...ALL]);
  });

  it('does not take the time of others at the end of the process if its store does not answer', async () => {
    answer = new Promise(() => undefined);
    void removal.remove('crm');
    const kept = { finish: () => Promise.resolve(), close: () => undefined };
    const end = new DestinationsEnd(kept, removal, [], { complete: () => undefined });
    await end.finish(2 ** 31 - 1);
    expect(removed).toEqual([...ALL, ...ALL]);
  });

  it('is removed again when every earlier write has ended', async () => {
    await removal.remove('crm');
    // A write waits two seconds for its turn, and two seconds for the look-up of deleted destinations.
    await clock.pass(5_000);
    expect(removed).toEqual(ALL);
    await clock.pass(5_000);
    expect(removed).toEqual([...ALL, ...ALL]);
  });

  it('is removed again a little later if it could not be removed', async () => {
    answer = Promise.reject(new Error('the store is away'));
    await removal.remove('crm');
    answer = Promise.resolve();
    await clock.pass(10_000);
    expect(removed).toEqual([...ALL, ...ALL]);
    expect(failed).toEqual([new Error('the store is away')]);
  });
});

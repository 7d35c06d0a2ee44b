import { beforeEach, describe, expect, it } from '@jest/globals';
import { DestinationsEnd } from '../../src/stored-destinations/destinations-end.js';
import { HistoryRemoval } from '../../src/stored-destinations/history-removal.js';
import { deferred } from '../support/deferred.js';
import { FakeClock } from '../support/fake-clock.js';

describe('the history of a destination that is deleted', () => {
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

  it('is removed at once, and what was being written meanwhile a little later, which keeps no process alive', async () => {
    await removal.remove('crm');
    expect(removed).toEqual(ALL);
    expect(clock.holding).toBe(0);
    await clock.pass(10_000);
    expect(removed).toEqual([...ALL, ...ALL]);
    expect(clock.pending).toBe(0);
  });

  it('is removed once more before the process ends', async () => {
    await removal.remove('crm');
    await removal.finish();
    expect(removed).toEqual([...ALL, ...ALL]);
    expect(clock.pending).toBe(0);
    removal.close();
    await removal.remove('crm');
    expect(clock.pending).toBe(0);
  });

  it('is removed before the process ends if its store is away as it is deleted', async () => {
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

  it('is removed before the process ends where the second removal is under way', async () => {
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

  it('leaves the rest of the time to others where its store does not answer as the process ends', async () => {
    answer = new Promise(() => undefined);
    void removal.remove('crm');
    const kept = { finish: () => Promise.resolve(), close: () => undefined };
    const end = new DestinationsEnd(kept, removal, [], { complete: () => undefined });
    await end.finish(2 ** 31 - 1);
    expect(removed).toEqual([...ALL, ...ALL]);
  });

  it('is looked for again when every write that began before has ended', async () => {
    await removal.remove('crm');
    // A write waits two seconds for its turn, and two for the answer which destinations are deleted.
    await clock.pass(5_000);
    expect(removed).toEqual(ALL);
    await clock.pass(5_000);
    expect(removed).toEqual([...ALL, ...ALL]);
  });

  it('is looked for again a little later where it could not be removed', async () => {
    answer = Promise.reject(new Error('the store is away'));
    await removal.remove('crm');
    answer = Promise.resolve();
    await clock.pass(10_000);
    expect(removed).toEqual([...ALL, ...ALL]);
    expect(failed).toEqual([new Error('the store is away')]);
  });
});

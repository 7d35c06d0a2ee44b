import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { describeServersOrEmbedded } from '../support/describe-backend.js';
import { deferred } from '../support/deferred.js';
import { AudiencesOn, type LifeOptions, membersOf } from './audiences-on.js';
import { bound } from './bound-store.js';

/** The source whose calls the queue takes late, in a partition of their own. */
const LATE = 'server';

/** Makes two changes send their calls in the same turn, right after the store has answered both. */
function inOneTurn(): Pick<LifeOptions, 'wrapStore'> {
  const both = deferred();
  let offers = 0;
  return {
    wrapStore: (store) => ({
      ...bound(store),
      offer: async (...args) => {
        const result = await store.offer(...args);
        if (++offers === 2) both.resolve();
        await both.promise;
        return result;
      },
    }),
  };
}

/** Holds back the calls of the source `LATE` until a promise resolves. */
function lateUntil(promise: Promise<void>, onTaken: () => void): Pick<LifeOptions, 'wrapSink'> {
  return {
    wrapSink: (sink) => ({
      partitionOf: (destination) => (destination === LATE ? 1 : 0),
      add: async (jobs) => {
        const isLate = jobs.some(({ batches }) => batches.some(({ source }) => source === LATE));
        if (isLate) await promise;
        await sink.add(jobs);
        if (isLate) onTaken();
      },
    }),
  };
}

describeServersOrEmbedded('changes of two audiences whose calls are made in the same turn', (backend) => {
  let on: AudiencesOn;

  beforeEach(async () => {
    on = await AudiencesOn.open(backend.connection);
  });
  afterEach(() => on.close());

  it('end without waiting for each other’s calls', async () => {
    const late = deferred();
    const { audiences } = on.live({
      destinationOf: (source) => source,
      ...inOneTurn(),
      ...lateUntil(late.promise, () => undefined),
    });
    const first = audiences.add('First', 'ann');
    const second = audiences.add('Second', 'ann', { source: LATE });
    expect(await first).toBe(true);
    late.resolve();
    expect(await second).toBe(true);
  });

  it('record no user before the queue has the call about that user', async () => {
    const late = deferred();
    const order: string[] = [];
    const { audiences } = on.live({
      destinationOf: (source) => source,
      ...inOneTurn(),
      ...lateUntil(late.promise, () => order.push('queued')),
    });
    const first = audiences.add('First', 'ann', { source: LATE }).finally(() => order.push('recorded'));
    const second = audiences.add('Second', 'ann');
    expect(await second).toBe(true);
    expect(await membersOf({ audiences }, 'First')).toEqual([]);
    late.resolve();
    expect(await first).toBe(true);
    expect(order).toEqual(['queued', 'recorded']);
  });
});

import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { describeBackend } from '../support/describe-backend.js';
import { turnsPerSecond } from '../support/event-loop.js';
import { AudiencesOn, membersOf } from './audiences-on.js';

const USERS = Array.from({ length: 10_000 }, (_, index) => `user-${index}`);
/**
 * Turns of the event loop a second, at least. A pause every 10 ms makes about 100; without pauses, timers wait
 * for seconds. The benchmark has the bound of a single stall, for a machine with nothing else to do.
 */
const LEAST = 10;

const REPETITIONS = 400_000;

function* repeated<T>(value: T): Generator<T, void> {
  for (let n = 0; n < REPETITIONS; n++) yield value;
}

/** It never waits, so that awaiting it gives nobody else a turn. */
async function* repeatedLater<T>(value: T): AsyncGenerator<T, void> {
  for (let n = 0; n < REPETITIONS; n++) yield Promise.resolve(value);
}

describeBackend('an audience of many users', (backend) => {
  let on: AudiencesOn;

  beforeEach(async () => {
    on = await AudiencesOn.open(backend.connection);
    const hold = { trait: 'all', token: 'me' };
    await on.store.register({ trait: 'all', name: 'All', kind: 'audience' });
    await on.store.lock('all', 'change', 'me', 60_000);
    await on.store.offer(
      hold,
      USERS.map((userId) => ({ userId, value: 'true' })),
    );
    await on.store.settle(hold, USERS);
    await on.store.unlock('all', 'change', 'me');
  }, 60_000);
  afterEach(() => on.close());

  it('lets timers fire while it is synced from an array, and while its members are listed', async () => {
    const life = on.live();
    const { audiences } = life;
    const turns = {
      unchanged: await turnsPerSecond(async () => {
        expect(await audiences.sync('All', USERS)).toEqual({ added: 0, removed: 0, unchanged: USERS.length });
      }),
      duplicates: await turnsPerSecond(() => audiences.sync('One', new Array(400_000).fill('ann'))),
      withoutValue: await turnsPerSecond(() =>
        audiences.syncTrait('None', new Array(200_000).fill(['ann', null])),
      ),
      members: await turnsPerSecond(async () => {
        expect(await membersOf(life, 'All')).toHaveLength(USERS.length);
      }),
    };
    expect(Object.entries(turns).filter(([, rate]) => rate < LEAST)).toEqual([]);
  }, 120_000);

  it('lets timers fire whatever kind of iterable the users come from', async () => {
    const { audiences } = on.live();
    const turns = {
      set: await turnsPerSecond(async () => {
        expect(await audiences.sync('All', new Set(USERS))).toMatchObject({ unchanged: USERS.length });
      }),
      generator: await turnsPerSecond(() => audiences.sync('One', repeated('ann'))),
      asynchronous: await turnsPerSecond(() => audiences.sync('One', repeatedLater('ann'))),
      map: await turnsPerSecond(() =>
        audiences.syncTrait('None', new Map(USERS.map((user) => [user, null]))),
      ),
    };
    expect(Object.entries(turns).filter(([, rate]) => rate < LEAST)).toEqual([]);
  }, 120_000);

  it('lets timers fire while new users are told, and while those who left are', async () => {
    const { audiences } = on.live();
    const joined = await turnsPerSecond(() => audiences.sync('Other', USERS.slice(0, 2_000)));
    const left = await turnsPerSecond(() => audiences.sync('Other', []));
    expect([joined, left].filter((rate) => rate < LEAST)).toEqual([]);
  }, 120_000);
});

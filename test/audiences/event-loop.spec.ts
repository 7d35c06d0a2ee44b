import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { describeBackend, type TestConnection } from '../support/describe-backend.js';
import { turnsPerSecond } from '../support/event-loop.js';
import { quickConnections } from '../support/quick-connections.js';
import { AudiencesOn, membersOf } from './audiences-on.js';

const USERS = Array.from({ length: 10_000 }, (_, index) => `user-${index}`);
/**
 * Minimum number of event-loop turns per second. A pause every 10 ms makes about 100; without pauses, timers wait
 * for seconds. The benchmark has the bound of a single stall, on an otherwise idle machine.
 */
const LEAST = 10;

const REPETITIONS = 400_000;

function* repeated<T>(value: T): Generator<T, void> {
  for (let n = 0; n < REPETITIONS; n++) yield value;
}

/** Never waits between values, so that awaiting them does not let timers fire. */
async function* repeatedLater<T>(value: T): AsyncGenerator<T, void> {
  for (let n = 0; n < REPETITIONS; n++) yield Promise.resolve(value);
}

describeBackend('an audience of many users', (backend) => {
  let on: AudiencesOn;

  beforeEach(async () => {
    on = await openWithUsers(backend.connection);
  });
  afterEach(() => on.close());

  it('lets timers fire while it is synced, and while its members are listed', async () => {
    const life = on.live();
    const turns = {
      unchanged: await turnsPerSecond(async () => {
        const changed = await life.audiences.sync('All', USERS);
        expect(changed).toEqual({ added: 0, removed: 0, unchanged: USERS.length });
      }),
      members: await turnsPerSecond(async () => {
        expect(await membersOf(life, 'All')).toHaveLength(USERS.length);
      }),
    };
    expect(tooFew(turns)).toEqual([]);
  }, 120_000);

  it('lets timers fire while calls are made about users who joined, and about users who left', async () => {
    const { audiences } = on.live();
    const turns = {
      joined: await turnsPerSecond(() => audiences.sync('Other', USERS.slice(0, 2_000))),
      left: await turnsPerSecond(() => audiences.sync('Other', [])),
    };
    expect(tooFew(turns)).toEqual([]);
  }, 120_000);
});

describe('the users of an audience', () => {
  const newConnection = quickConnections();
  let on: AudiencesOn;

  beforeEach(async () => {
    on = await openWithUsers(await newConnection());
  });
  afterEach(() => on.close());

  it('let timers fire whatever kind of iterable they come from', async () => {
    const { audiences } = on.live();
    const turns = {
      array: await turnsPerSecond(() => audiences.sync('One', new Array(REPETITIONS).fill('ann'))),
      set: await turnsPerSecond(async () => {
        expect(await audiences.sync('All', new Set(USERS))).toMatchObject({ unchanged: USERS.length });
      }),
      generator: await turnsPerSecond(() => audiences.sync('One', repeated('ann'))),
      asynchronous: await turnsPerSecond(() => audiences.sync('One', repeatedLater('ann'))),
      map: await turnsPerSecond(() =>
        audiences.syncTrait('None', new Map(USERS.map((user) => [user, null]))),
      ),
      withoutValue: await turnsPerSecond(() =>
        audiences.syncTrait('None', new Array(REPETITIONS / 2).fill(['ann', null])),
      ),
    };
    expect(tooFew(turns)).toEqual([]);
  }, 120_000);
});

/** Opens audiences, one of which has all users as members. */
async function openWithUsers(connection: TestConnection): Promise<AudiencesOn> {
  const on = await AudiencesOn.open(connection);
  const hold = { trait: 'all', token: 'me' };
  await on.store.register({ trait: 'all', name: 'All', kind: 'audience' });
  await on.store.lock('all', 'change', 'me', 60_000);
  await on.store.offer(
    hold,
    USERS.map((userId) => ({ userId, value: 'true' })),
  );
  await on.store.settle(hold, USERS);
  await on.store.unlock('all', 'change', 'me');
  return on;
}

function tooFew(turns: Record<string, number>): [string, number][] {
  return Object.entries(turns).filter(([, rate]) => rate < LEAST);
}

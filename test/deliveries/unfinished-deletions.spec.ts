import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DeliveriesService } from '../../src/index.js';
import { createDeletionStore } from '../../src/deliveries/deleted-users.js';
import { userKey } from '../../src/deliveries/deletion-key.js';
import type { Deletion } from '../../src/deliveries/deletion-store.js';
import { UnfinishedDeletions } from '../../src/deliveries/unfinished-deletions.js';
import { QUEUE_BACKEND, type QueueBackend } from '../../src/queue/queue-backend.js';
import { SYSTEM_CLOCK } from '../../src/shared/clock.js';
import { describeServersOrEmbedded } from '../support/describe-backend.js';
import { FakeClock } from '../support/fake-clock.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';

const MINUTE = 60_000;

function deletionOf(userId: string, at: number): Deletion {
  return { key: userKey(userId), at, task: JSON.stringify({ userId, sources: ['default'] }) };
}

describeServersOrEmbedded('an unfinished deletion', (backend) => {
  const stage = new Stage();
  let clock: FakeClock;

  beforeEach(() => {
    clock = new FakeClock();
    jest
      .spyOn(SYSTEM_CLOCK, 'afterUnlessIdle')
      .mockImplementation((delay, callback) => clock.afterUnlessIdle(delay, callback));
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('is carried out by another process that is already running', async () => {
    const app = await stage.app({
      connection: backend.connection,
      webhooks: webhooksTo(await stage.receiver({ answer: [404] })),
    });
    const timestamp = new Date(Date.now() - 60 * MINUTE);
    for (const userId of ['gone', 'stays']) app.analytics.track({ userId, event: 'Refused', timestamp });
    await app.analytics.flush();
    await app.settled();
    const { storage } = app.context.get<QueueBackend>(QUEUE_BACKEND);
    const store = await createDeletionStore(storage);
    await store.add([deletionOf('gone', Date.now() - 30 * MINUTE)]);

    await until(async () => {
      await clock.pass(MINUTE);
      return (await store.pending(1)).length === 0 || undefined;
    });
    const failed = await app.context.get(DeliveriesService).failed({ type: 'track' });
    expect(failed.map(({ body }) => body)).toEqual([expect.stringContaining('"stays"')]);
  });
});

describe('the search for unfinished deletions', () => {
  let clock: FakeClock;
  let left: Deletion[];
  let failure: Error | undefined;
  let isOurTurn: boolean;
  let starts: number;
  let unfinished: UnfinishedDeletions;

  beforeEach(() => {
    clock = new FakeClock();
    left = [];
    failure = undefined;
    isOurTurn = true;
    starts = 0;
    unfinished = new UnfinishedDeletions({
      clock,
      now: () => clock.now(),
      store: {
        pending: () => (failure === undefined ? Promise.resolve(left) : Promise.reject(failure)),
        async *pages() {
          if (failure !== undefined) throw failure;
          for (const deletion of left) yield await Promise.resolve([deletion]);
        },
      },
      backlogs: { claim: () => Promise.resolve(isOurTurn) },
      eraser: {
        start: () => {
          starts++;
        },
      },
      log: { onLeft: () => undefined },
      hasOwnStore: false,
    });
  });

  it('takes over all deletions at the start of a process, whoever has searched before', async () => {
    isOurTurn = false;
    left = [deletionOf('gone', clock.now())];
    unfinished.start();
    await clock.pass(0);
    expect(starts).toBe(1);
  });

  it('leaves recent deletions to the process that received them', async () => {
    unfinished.start();
    await clock.pass(4 * MINUTE);
    left = [deletionOf('first', clock.now())];
    await clock.pass(2 * MINUTE);
    left.push(deletionOf('second', clock.now()));
    await clock.pass(3 * MINUTE);
    expect(starts).toBe(0);
    await clock.pass(MINUTE);
    expect(starts).toBe(1);
  });

  it('is left to another process that has just searched', async () => {
    unfinished.start();
    await clock.pass(MINUTE);
    left = [deletionOf('gone', clock.now())];
    isOurTurn = false;
    await clock.pass(30 * MINUTE);
    expect(starts).toBe(0);
    isOurTurn = true;
    await clock.pass(5 * MINUTE);
    expect(starts).toBe(1);
  });

  it('is repeated after a search that failed', async () => {
    left = [deletionOf('gone', clock.now())];
    failure = new Error('away');
    unfinished.start();
    await clock.pass(30 * MINUTE);
    expect(starts).toBe(0);
    failure = undefined;
    await clock.pass(5 * MINUTE);
    expect(starts).toBe(1);
  });

  it('does not keep the process alive, and stops when it is closed', async () => {
    unfinished.start();
    await clock.pass(MINUTE);
    expect([clock.pending, clock.holding]).toEqual([1, 0]);
    unfinished.close();
    expect(clock.pending).toBe(0);
  });

  it('starts nothing if its answer comes after it is closed', async () => {
    left = [deletionOf('gone', clock.now())];
    unfinished.start();
    unfinished.close();
    await clock.pass(5 * MINUTE);
    expect([starts, clock.pending]).toEqual([0, 0]);
  });
});

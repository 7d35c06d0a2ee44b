import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DeletedUsers } from '../../src/deliveries/deleted-users.js';
import { BatchDelivery } from '../../src/delivery/batch-delivery.js';
import type { BatchEnd } from '../../src/delivery/batch-end.js';
import { DeliveryScheduler } from '../../src/delivery/delivery-scheduler.js';
import { EventLoopBudget } from '../../src/delivery/event-loop-budget.js';
import { JobSizes } from '../../src/delivery/job-sizes.js';
import { LocalRateLimitStore } from '../../src/delivery/rate-limits/rate-limit-store.js';
import type { Destination } from '../../src/destinations/destination.js';
import { DestinationRegistry } from '../../src/destinations/destination-registry.js';
import type { QueuedBatch } from '../../src/queue/batch-job.js';

/** Number of the 32 jobs in hand that destinations divide between them. The rest is for destinations that have none. */
const DIVIDED = 24;
const JOBS = 32;
/** Characters of a job, and how many jobs may wait for look-ups. */
const SIZE = 100;
const LOOKED_UP_FOR = 11;
const IN_JOBS = { jobs: LOOKED_UP_FOR, size: Infinity };
/** The job that exceeds the limit waits as well. */
const IN_CHARACTERS = { jobs: Infinity, size: (LOOKED_UP_FOR - 1) * SIZE };

/** A destination that never answers. */
function hanging(id: string, rateLimit?: number): Destination {
  return {
    id,
    name: 'Webhooks',
    retryWindow: 60_000,
    requestSize: 1,
    origins: [`https://${id}.example.com`],
    rateLimit,
    origin: () => undefined,
    heldBack: () => 0,
    lastResult: () => undefined,
    deliver: () => undefined,
  };
}

function batchFor({ id }: Destination, count: number): QueuedBatch {
  const messages = Array.from({ length: count }, (_, n) => {
    return { id: `${id}-${n}`, body: '{"userId":"u1"}', outcomes: [] };
  });
  return { destination: id, source: 'web', messages };
}

describe('a batch in delivery', () => {
  let ends: BatchEnd[];

  beforeEach(() => {
    ends = [];
    jest.useFakeTimers({ now: Date.now() });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  /** @param find looks up deleted users */
  function create(
    destinations: readonly Destination[] | DestinationRegistry,
    find = (): Promise<Map<string, number>> => Promise.resolve(new Map<string, number>()),
    maxLookedUpFor = IN_JOBS,
  ): { scheduler: DeliveryScheduler; deliver: (...batches: QueuedBatch[]) => void } {
    const scheduler = new DeliveryScheduler({
      requests: 1_000,
      eventLoop: new EventLoopBudget(),
      connections: 64,
      batches: 4,
      jobs: JOBS,
      rateLimits: new LocalRateLimitStore(),
      promote: () => Promise.resolve(),
    });
    const deliveries = new BatchDelivery({
      destinations:
        destinations instanceof DestinationRegistry ? destinations : new DestinationRegistry(destinations),
      scheduler,
      reporter: { attempted: () => undefined, notLookedUp: () => undefined },
      deleted: new DeletedUsers({ find }),
      queue: { isOwn: () => true },
      lookedUpFor: new JobSizes(),
      maxLookedUpFor,
    });
    const deliver = (...batches: QueuedBatch[]): void => {
      const inHand = { job: { timestamp: Date.now() }, signal: new AbortController().signal, size: SIZE };
      for (const batch of batches) void deliveries.deliver(batch, inHand).then((end) => ends.push(end));
    };
    return { scheduler, deliver };
  }

  it('is put back after the look-up of deleted users if its destination has enough places by then', async () => {
    let answer: () => void = () => undefined;
    const lookUp = new Promise<Map<string, number>>((resolve) => {
      answer = () => {
        resolve(new Map());
      };
    });
    const crm = hanging('crm');
    const { deliver } = create([crm], () => lookUp);
    for (let n = 0; n < 20; n++) deliver({ ...batchFor(crm, 200), firstAttemptAt: Date.now() });
    answer();
    await jest.advanceTimersByTimeAsync(0);
    // Two batches in hand are enough for a destination whose speed is not known yet.
    expect(ends.map(({ kind }) => kind)).toEqual(Array(18).fill('putBack'));
  });

  it.each([
    ['too many jobs', IN_JOBS],
    ['jobs with too many characters', IN_CHARACTERS],
  ])(
    'is postponed if %s wait for look-ups, unless its destination is remembered',
    async (_, maxLookedUpFor) => {
      const found = new Map<string, (destination: undefined) => void>();
      const remembered = hanging('remembered');
      const { scheduler, deliver } = create(
        new DestinationRegistry([], {
          find: (id) =>
            id === remembered.id
              ? Promise.resolve(remembered)
              : new Promise((resolve) => found.set(id, resolve)),
          ownerOf: () => undefined,
          profile: () => Promise.resolve(undefined),
          deletedAmong: () => Promise.resolve(new Set()),
        }),
        undefined,
        maxLookedUpFor,
      );
      const taken = jest.spyOn(scheduler, 'deliver');
      // A job takes one place, however many of its destinations are looked up.
      for (let n = 0; n < LOOKED_UP_FOR; n++) {
        deliver(batchFor(hanging(`d${n}`), 1), batchFor(hanging(`beside-d${n}`), 1));
      }
      await jest.advanceTimersByTimeAsync(0);
      expect(ends).toEqual([]);
      for (const one of [hanging('late'), remembered]) deliver(batchFor(one, 1));
      await jest.advanceTimersByTimeAsync(0);
      expect(ends).toEqual([
        expect.objectContaining({ kind: 'postponed', batch: batchFor(hanging('late'), 1) }),
      ]);
      expect(taken).toHaveBeenCalledTimes(1);
      for (const find of found.values()) find(undefined);
      await jest.advanceTimersByTimeAsync(0);
      ends = [];
      deliver(batchFor(hanging('next'), 1));
      await jest.advanceTimersByTimeAsync(0);
      expect(ends).toEqual([]);
    },
  );

  it('is put back as not begun if it gives up its place before anything is sent', async () => {
    const slow = Array.from({ length: DIVIDED / 2 }, (_, n) => hanging(`slow-${n}`));
    const newcomers = Array.from({ length: JOBS - DIVIDED }, (_, n) => hanging(`newcomer-${n}`));
    const { scheduler, deliver } = create([...slow, ...newcomers]);
    scheduler.start();
    const second = slow.map((one) => batchFor(one, 20));
    for (const batch of [...slow.map((one) => batchFor(one, 20)), ...second]) deliver(batch);
    for (const one of newcomers) deliver(batchFor(one, 20));
    await jest.advanceTimersByTimeAsync(1_200);
    scheduler.stop();
    // The first batches are partly under way.
    expect(ends).toEqual(second.map((batch) => expect.objectContaining({ kind: 'putBack', batch })));
  });

  it('is put back as not begun if the process ends before the `rateLimit` allows a request', async () => {
    const limited = hanging('limited', 2);
    const { scheduler, deliver } = create([limited]);
    const batch = batchFor(limited, 4);
    deliver(batch);
    scheduler.stop();
    await jest.advanceTimersByTimeAsync(0);
    expect(ends).toEqual([{ kind: 'putBack', batch, destination: limited, until: Date.now() }]);
  });
});

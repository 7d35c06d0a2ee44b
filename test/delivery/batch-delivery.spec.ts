import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DeletedUsers } from '../../src/deliveries/deleted-users.js';
import { BatchDelivery, type BatchEnd } from '../../src/delivery/batch-delivery.js';
import { DeliveryScheduler } from '../../src/delivery/delivery-scheduler.js';
import { LocalRateLimitStore } from '../../src/delivery/rate-limits/rate-limit-store.js';
import type { Destination } from '../../src/destinations/destination.js';
import { DestinationRegistry } from '../../src/destinations/destination-registry.js';
import type { QueuedBatch } from '../../src/queue/batch-job.js';

/** A destination that never answers. */
function hanging(id: string): Destination {
  return {
    id,
    name: 'Webhooks',
    retryWindow: 60_000,
    requestSize: 1,
    origins: [`https://${id}.example.com`],
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

describe('the delivery of a batch', () => {
  let ends: BatchEnd[];

  beforeEach(() => {
    ends = [];
    jest.useFakeTimers({ now: Date.now() });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  /** @param find looks deleted users up */
  function create(
    destinations: readonly Destination[],
    find = (): Promise<Map<string, number>> => Promise.resolve(new Map<string, number>()),
  ): { deliver: (batch: QueuedBatch) => void } {
    const scheduler = new DeliveryScheduler({
      requests: 1_000,
      connections: 64,
      batches: 4,
      jobs: 32,
      rateLimits: new LocalRateLimitStore(),
      promote: () => Promise.resolve(),
    });
    const deliveries = new BatchDelivery(
      new DestinationRegistry(destinations),
      scheduler,
      { attempted: () => undefined, notLookedUp: () => undefined },
      new DeletedUsers({ find }),
      { isOwn: () => true },
    );
    const deliver = (batch: QueuedBatch): void => {
      const job = { timestamp: Date.now() };
      void deliveries.deliver(batch, job, new AbortController().signal).then((end) => ends.push(end));
    };
    return { deliver };
  }

  it('leaves its place to others, however many are looked through for deleted users at a time', async () => {
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
    // Two of them are enough for one that is not known yet.
    expect(ends.map(({ kind }) => kind)).toEqual(Array(18).fill('putBack'));
  });
});

import { afterAll, afterEach, beforeAll, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { BacklogCounter } from '../../src/queue/backlog-counter.js';
import type { FullBacklog } from '../../src/queue/destination-backlog.js';
import type { BacklogStore } from '../../src/queue/backlog-store.js';
import { createBacklogStore } from '../../src/queue/queue.providers.js';
import { BacklogUpkeep, type BacklogUpkeepOptions } from '../../src/queue/backlog-upkeep.js';
import { BatchQueue } from '../../src/queue/batch-queue.js';
import { jobIdFor } from '../../src/queue/job-id.js';
import type { BatchJobQueue, QueueStorage } from '../../src/queue/queue-backend.js';
import { describeServersOrEmbedded, describeRedis } from '../support/describe-backend.js';
import { ifServer } from '../support/if-server.js';
import { openBackend } from '../support/open-backend.js';
import { RedisServer } from '../support/redis-server.js';
import { until } from '../support/until.js';

const LIMIT = 100;
const CRM = { destination: 'crm' };

const limitOf = (destination: string): number => (destination === 'unlimited' ? Infinity : LIMIT);

describeServersOrEmbedded('the counter of waiting messages', (backend) => {
  const closings: (() => unknown)[] = [];

  afterEach(async () => {
    for (const close of closings.splice(0).reverse()) await close();
  });

  interface Opened {
    queue: BatchJobQueue;
    store: BacklogStore;
    storage: QueueStorage;
    upkeepOf: (options?: BacklogUpkeepOptions) => BacklogUpkeep;
  }

  async function open(): Promise<Opened> {
    const database = await openBackend(backend.connection);
    const queue = database.createQueue(0, {});
    closings.push(async () => {
      await queue.close();
      await database.close();
    });
    const { storage } = database;
    const store = createBacklogStore(storage);
    const parts = { queues: [queue], storage: database.jobStorage, store, limitOf, configured: ['never'] };
    return { queue, store, storage, upkeepOf: (options) => new BacklogUpkeep(parts, options) };
  }

  async function counterOn(store: BacklogStore): Promise<BacklogCounter> {
    const counter = new BacklogCounter(store, () => LIMIT);
    await counter.start();
    closings.push(() => counter.close());
    return counter;
  }

  it('refuses messages above the limit of a destination, and no other destination’s messages', async () => {
    const { store } = await open();
    const counter = await counterOn(store);
    counter.taken('crm', LIMIT - 1);
    expect(counter.refusal(CRM)).toBeUndefined();
    counter.admitted(CRM);
    expect(counter.refusal(CRM)).toMatch(/^100 messages wait for the destination "crm" .*`backlogLimit`/);
    expect(counter.refusal({ destination: 'other' })).toBeUndefined();
    // The message is in the queue now, and counts once.
    counter.taken('crm', 1);
    counter.ended('crm', 1);
    expect(counter.refusal(CRM)).toBeUndefined();
  });

  it('is shared by processes and survives them', async () => {
    const { store } = await open();
    const producer = await counterOn(store);
    const worker = await counterOn(store);
    producer.taken('crm', LIMIT);
    expect(producer.refusal(CRM)).toBeDefined();
    worker.ended('crm', 40);
    await until(() => (producer.refusal(CRM) === undefined ? true : undefined));
    producer.taken('crm', 20);
    await Promise.all([producer.close(), worker.close()]);
    expect(await store.all()).toEqual(new Map([['crm', 80]]));

    const next = await counterOn(store);
    next.taken('crm', 19);
    expect(next.refusal(CRM)).toBeUndefined();
    next.taken('crm', 1);
    expect(next.refusal(CRM)).toBeDefined();
  });

  it('is right even if the end of messages is written before their beginning', async () => {
    const { store } = await open();
    await store.add(new Map([['crm', -30]]));
    expect(await store.add(new Map([['crm', 50]]))).toEqual(new Map([['crm', 20]]));
    expect(await store.add(new Map([['crm', -20]]))).toEqual(new Map([['crm', 0]]));
    expect(await store.all()).toEqual(new Map());
  });

  it('adds up the changes that many processes write at the same time', async () => {
    const { store } = await open();
    const changes = new Map(Array.from({ length: 50 }, (_, n) => [`d${n}`, 2]));
    await Promise.all(Array.from({ length: 20 }, () => store.add(changes)));
    expect([...new Set((await store.all()).values())]).toEqual([40]);
  });

  // Only one process at a time uses an embedded database.
  ifServer(backend, () => {
    it('stops processes that fill a queue together within 5 % of a limit of 20,000', async () => {
      const { queue, store } = await open();
      const limit = 20_000;
      const batch = 25;
      const counters = Array.from({ length: 4 }, () => new BacklogCounter(store, () => limit));
      for (const counter of counters) closings.push(() => counter.close());
      const added = { messages: 0, jobs: 0 };

      /** Adds batches until one is refused. */
      async function fill(counter: BacklogCounter): Promise<void> {
        const batches = new BatchQueue([queue], {
          onAdded: (destination, messages) => {
            counter.taken(destination, messages);
            added.messages += messages;
          },
        });
        while (counter.refusal(CRM) === undefined) {
          for (let n = 0; n < batch; n++) counter.admitted(CRM);
          await batches.add([{ ...jobOf('crm', batch), jobId: `job-${added.jobs++}` }]);
        }
      }

      await Promise.all(counters.map((counter) => counter.start()));
      await Promise.all(counters.map(fill));
      expect(Math.abs(added.messages - limit)).toBeLessThanOrEqual(0.05 * limit);

      const [worker] = counters;
      worker?.ended('crm', limit / 2);
      await until(() => counters.every((counter) => counter.refusal(CRM) === undefined) || undefined);
      await Promise.all(counters.map(fill));
      expect(Math.abs(added.messages - 1.5 * limit)).toBeLessThanOrEqual(0.05 * limit);
    });
  });

  it('reports once that a destination is full, and once that it is drained, with the messages refused', async () => {
    const { store } = await open();
    const counter = await counterOn(store);
    const told: (FullBacklog & { type: string })[] = [];
    counter.observe({
      onFull: (full) => told.push({ type: 'full', ...full }),
      onDrained: (full) => told.push({ type: 'drained', ...full }),
    });
    counter.taken('crm', LIMIT);
    for (let n = 0; n < 3; n++) counter.refusal(CRM);
    counter.ended('crm', 50);
    await until(() => (told.length > 1 ? true : undefined));
    const since = told[0]?.since;
    expect(told).toEqual([
      { type: 'full', ...CRM, limit: LIMIT, waiting: 100, since, refused: 1 },
      { type: 'drained', ...CRM, limit: LIMIT, waiting: 50, since, refused: 3 },
    ]);
  });

  it('does not count messages that wait for room as refused', async () => {
    const { store } = await open();
    const counter = await counterOn(store);
    const told: number[] = [];
    counter.observe({
      onFull: ({ refused }) => told.push(refused),
      onDrained: ({ refused }) => told.push(refused),
    });
    expect(counter.roomFor(CRM)).toBe(LIMIT);
    counter.taken('crm', LIMIT);
    for (let n = 0; n < 3; n++) expect(counter.roomFor(CRM)).toBe(0);
    counter.refusal(CRM);
    counter.ended('crm', 50);
    await until(() => (told.length > 1 ? true : undefined));
    expect(told).toEqual([0, 1]);
  });

  it('forgets the counts of a killed process as soon as the queue is empty', async () => {
    const { store, upkeepOf } = await open();
    await store.add(new Map([['crm', 70]]));
    const upkeep = upkeepOf({ interval: 2, quietTime: 50 });
    await upkeep.run();
    expect(await store.all()).toEqual(new Map());
  });

  it('forgets nothing of a queue that is paused', async () => {
    const { queue, store, upkeepOf } = await open();
    await new BatchQueue([queue]).add([jobOf('crm', 30)]);
    await queue.pause();
    await new BatchQueue([queue]).add([jobOf('mail', 20)]);
    await store.add(new Map(Object.entries({ crm: 30, mail: 20 })));
    await upkeepOf({ interval: 2, quietTime: 50 }).run();
    expect(await store.all()).toEqual(new Map(Object.entries({ crm: 30, mail: 20 })));
  });

  it('forgets nothing of a queue that is in use meanwhile', async () => {
    const { store, upkeepOf } = await open();
    await store.add(new Map([['crm', 70]]));
    const all = store.all.bind(store);
    store.all = async () => {
      const totals = await all();
      await store.add(new Map([['crm', 5]]));
      return totals;
    };
    const upkeep = upkeepOf({ interval: 2, quietTime: 50 });
    await upkeep.run();
    expect(await all()).toEqual(new Map([['crm', 75]]));
  });

  it.each([
    ['', false, (_: string, id: string) => id],
    [', also those that let others go first', true, (_: string, id: string) => id],
    [', also those whose ids tell their destination', false, jobIdFor],
  ])('counts the messages themselves if a wrong total comes near its limit%s', async (...row) => {
    const [, isMany, idOf] = row;
    const { queue, store, upkeepOf } = await open();
    const jobs = [jobOf('crm', 30), jobOf('crm', 10), jobOf('mail', 20), jobOf('sms', 30)];
    await new BatchQueue([queue], { hasManyWaiting: () => isMany }).add(
      jobs.map((job) => ({ ...job, jobId: idOf(String(job.batches[0]?.destination), job.jobId) })),
    );
    await store.add(new Map(Object.entries({ crm: 90, mail: 21, sms: 10 })));
    const upkeep = upkeepOf({ quietTime: 50 });
    await upkeep.run();
    // A total that is nearly right stays as it is.
    expect(await store.all()).toEqual(new Map(Object.entries({ crm: 40, mail: 21, sms: 30 })));
  });

  it('corrects the counts of killed processes, although some messages always wait', async () => {
    const { queue, store, upkeepOf } = await open();
    await new BatchQueue([queue]).add([jobOf('crm', 1), jobOf('mail', 2), jobOf('unlimited', 3)]);
    await store.add(new Map(Object.entries({ crm: 31, mail: -28, unlimited: 9, gone: 5 })));
    await upkeepOf({ quietTime: 50 }).run();
    expect(await store.all()).toEqual(new Map(Object.entries({ crm: 1, mail: 2, unlimited: 3 })));
  });

  it('counts messages that wait for a configured destination even if none was ever counted', async () => {
    const { queue, store, upkeepOf } = await open();
    await new BatchQueue([queue]).add([jobOf('never', 7)]);
    await upkeepOf({ quietTime: 50 }).run();
    expect(await store.all()).toEqual(new Map([['never', 7]]));
  });

  it('leaves totals alone while jobs of a newer version wait, whose messages it cannot count', async () => {
    const { queue, store, upkeepOf } = await open();
    await new BatchQueue([queue]).add([jobOf('crm', 1)]);
    await queue.add('batch', { v: 99, batches: [] }, { jobId: 'newer' });
    await store.add(new Map([['crm', 31]]));
    await upkeepOf({ quietTime: 50 }).run();
    expect(await store.all()).toEqual(new Map([['crm', 31]]));
  });

  it('does not correct changes that a process is about to write', async () => {
    const { queue, store, upkeepOf } = await open();
    const counter = await counterOn(store);
    const batches = new BatchQueue([queue], {
      onAdded: (destination, messages) => {
        counter.taken(destination, messages);
      },
    });
    await batches.add([jobOf('crm', 1)]);
    await until(async () => ((await store.all()).get('crm') === 1 ? true : undefined));
    await batches.add([jobOf('crm', 4)]);
    await upkeepOf().run();
    await counter.close();
    expect(await store.all()).toEqual(new Map([['crm', 5]]));
  });

  it('removes the counts of destinations for which nothing waits any more', async () => {
    const { store, storage, upkeepOf } = await open();
    await store.add(new Map(Object.entries({ crm: 3, deleted: 2 })));
    await store.add(new Map(Object.entries({ crm: -2, deleted: -2 })));
    await upkeepOf({ interval: 2, quietTime: 50 }).run();
    await upkeepOf({ interval: 2 }).run();
    expect(await destinationsIn(storage)).toEqual([]);
  });

  it('loses no change while it looks for destinations for which nothing waits', async () => {
    const { store, storage } = await open();
    await store.add(new Map([['idle', 0]]));
    const change = (messages: number): Map<string, number> =>
      new Map(Object.entries({ a: messages, z: messages }));
    for (let round = 0; round < 20; round++) {
      await Promise.all([store.add(change(1)), store.tidy(), store.add(change(-1)), store.tidy()]);
      await Promise.all([store.tidy(), store.add(change(1))]);
    }
    expect(await store.all()).toEqual(change(20));
    expect(await destinationsIn(storage)).toEqual(['a', 'z']);
  });

  it('lets one process do a task, and none again within the interval', async () => {
    const { store } = await open();
    const claims = await Promise.all(Array.from({ length: 5 }, () => store.claim('task', 60_000)));
    expect(claims.filter(Boolean)).toHaveLength(1);
    expect(await store.claim('other', 1)).toBe(true);
    await until(async () => ((await store.claim('other', 1)) ? true : undefined));
  });
});

describeRedis('a recount of waiting messages', () => {
  it('asks for a part of the ids at a time, since Redis serves nobody else meanwhile', async () => {
    const server = await RedisServer.create();
    const database = await openBackend(server.url());
    const queue = database.createQueue(0, {});
    await new BatchQueue([queue]).add([jobOf('crm', 30)]);
    const store = createBacklogStore(database.storage);
    await store.add(new Map([['crm', 90]]));
    const admin = new Redis(server.url());
    const asked: string[][] = [];
    const monitor = await admin.monitor();
    monitor.on('monitor', (_: string, args: string[]) => asked.push(args));
    const parts = { queues: [queue], storage: database.jobStorage, store, limitOf: () => LIMIT };
    await new BacklogUpkeep(parts, { quietTime: 50 }).recount();
    expect(await store.all()).toEqual(new Map([['crm', 30]]));
    await until(() => asked.some(([command]) => command === 'HINCRBY' || command === 'hincrby') || undefined);
    const ranges = asked.filter(([command]) => /RANGE/i.test(String(command)));
    expect(ranges.length).toBeGreaterThan(0);
    expect(ranges.filter((args) => args.at(-1) === '-1' || args.length < 4)).toEqual([]);
    monitor.disconnect();
    admin.disconnect();
    await queue.close();
    await database.close();
    await server.dispose();
  });
});

describeRedis('the counter of waiting messages with very many destinations', () => {
  let server: RedisServer;
  let database: Awaited<ReturnType<typeof openBackend>>;
  let store: BacklogStore;

  beforeAll(async () => {
    server = await RedisServer.create();
    database = await openBackend(server.url());
    store = createBacklogStore(database.storage);
  });
  afterAll(async () => {
    await database.close();
    await server.dispose();
  });

  it('writes and clears all their totals', async () => {
    // JavaScript passes at most about 120,000 arguments.
    const totals = new Map(Array.from({ length: 75_000 }, (_, n) => [`d${n}`, 2]));
    expect((await store.add(totals)).size).toBe(totals.size);
    expect(await store.waiting()).toBe(2 * totals.size);
    await store.clear(totals);
    expect((await store.all()).size).toBe(0);
  });

  it('writes no total twice if the queue goes away in between', async () => {
    const counter = new BacklogCounter(store, () => LIMIT);
    await counter.start();
    const add = store.add.bind(store);
    let calls = 0;
    store.add = (changes) => (++calls === 2 ? Promise.reject(new Error('It is away.')) : add(changes));
    for (let n = 0; n < 2_500; n++) counter.taken(`d${n}`, 1);
    await until(() => (calls >= 2 ? true : undefined));
    await counter.close();
    const totals = await store.all();
    expect(totals.size).toBe(2_500);
    expect(new Set(totals.values())).toEqual(new Set([1]));
  });
});

describeRedis('a counter that takes messages which others deliver', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('learns within seconds that messages no longer have to let others go first', async () => {
    const server = await RedisServer.create();
    const database = await openBackend(server.url());
    const store = createBacklogStore(database.storage);
    const [producer, worker] = [
      new BacklogCounter(store, () => 20_000),
      new BacklogCounter(store, () => 20_000),
    ];
    await Promise.all([producer.start(), worker.start()]);
    producer.taken('crm', 600);
    await until(async () => ((await store.all()).get('crm') === 600 ? true : undefined));
    expect(producer.hasManyWaiting('crm')).toBe(true);
    worker.ended('crm', 600);
    await worker.close();
    const now = performance.now.bind(performance);
    jest.spyOn(performance, 'now').mockImplementation(() => now() + 10_000);
    await until(() => (producer.hasManyWaiting('crm') ? undefined : true));
    await producer.close();
    await database.close();
    await server.dispose();
  });
});

/** Resolves to the destinations for which the database holds a number. */
async function destinationsIn(storage: QueueStorage): Promise<unknown[]> {
  if (storage.kind === 'redis') {
    const names = await storage.client.eval(
      `return redis.call('HKEYS', KEYS[1])`,
      1,
      '{nestjs-analytics}:backlog',
    );
    return [names].flat().sort();
  }
  const select = 'SELECT destination FROM nestjs_analytics.backlog ORDER BY destination';
  return (await storage.pool.query<{ destination: string }>(select)).rows.map(
    ({ destination }) => destination,
  );
}

function jobOf(destination: string, count: number): Parameters<BatchQueue['add']>[0][number] {
  const messages = Array.from({ length: count }, (_, n) => ({ id: `m-${n}`, body: '{}' }));
  const jobId = `${destination}-${count}`;
  return { jobId, failedRetention: 60_000, batches: [{ destination, source: 'default', messages }] };
}

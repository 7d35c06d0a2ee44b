import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { getQueueToken } from '@nestjs/bullmq';
import {
  ANALYTICS_QUEUE,
  ANALYTICS_QUEUES,
  AnalyticsHealthIndicator,
  analyticsQueueName,
  DeliveriesService,
  DestinationsService,
} from '../../src/index.js';
import { JobBudget } from '../../src/delivery/job-budget.js';
import { partitionOf } from '../../src/queue/partitions.js';
import { PartitionWatch, type PartitionWatchOptions } from '../../src/queue/partition-watch.js';
import type { QueueBackend } from '../../src/queue/queue-backend.js';
import { QueuePartitions } from '../../src/queue/queue-partitions.js';
import type { AnalyticsApp } from '../support/analytics-app.js';
import { describeRedis } from '../support/describe-backend.js';
import { openBackend } from '../support/open-backend.js';
import { eventsIn } from '../support/received-message.js';
import type { Receiver } from '../support/receiver.js';
import { RedisServer } from '../support/redis-server.js';
import { destinationsBySource, Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';

const PARTITIONS = 4;
/** Number of messages for which a slow receiver needs more than a minute. */
const WAITING = 2_500;
/** In milliseconds. */
const LATER_THAN_THIS_TEST = 60_000;
const DESTINATIONS = Array.from({ length: 12 }, (_, index) => `d${index}`);

it('The partition of a destination is the same in every process and version', () => {
  expect(DESTINATIONS.map((id) => partitionOf(id, 8))).toEqual([4, 3, 6, 5, 0, 7, 2, 1, 4, 3, 4, 3]);
  expect(new Set(DESTINATIONS.map((id) => partitionOf(id, 1)))).toEqual(new Set([0]));
});

it('The budget of jobs in hand lets a partition take what the others leave, and leaves some to each', () => {
  const workers = [{ concurrency: 0 }, { concurrency: 0 }];
  const budget = new JobBudget(80, Infinity);
  for (const worker of workers) budget.join(worker);
  const [one, other] = workers;
  if (one === undefined || other === undefined) throw new Error('There are two workers.');
  expect(workers.map(({ concurrency }) => concurrency)).toEqual([70, 70]);
  const places = Array.from({ length: 70 }, () => budget.take(one));
  expect(workers.map(({ concurrency }) => concurrency)).toEqual([70, 10]);
  for (const place of places.slice(0, 40)) place.leave();
  expect(workers.map(({ concurrency }) => concurrency)).toEqual([70, 50]);
});

describeRedis('a queue of several partitions', () => {
  const stage = new Stage();
  let server: RedisServer;
  let database = 0;

  beforeAll(async () => {
    server = await RedisServer.create({ appendOnly: true });
  });
  afterAll(() => server.dispose());

  /** Starts an application with several destinations, each with a source of its own. */
  function start(
    url: string,
    receiver: Receiver,
    options: { partitions?: number; worker?: boolean },
  ): Promise<AnalyticsApp> {
    return stage.app({ connection: url, ...destinationsBySource(receiver.urls(DESTINATIONS)), ...options });
  }

  async function trackAll(app: AnalyticsApp, event: string): Promise<void> {
    for (const name of DESTINATIONS) app.analytics.source(name).track({ userId: 'u1', event });
    await app.analytics.flush();
  }

  it('delivers from all partitions, and keeps the messages of a destination in one', async () => {
    const url = server.url(database++);
    const receiver = await stage.receiver();
    const producer = await start(url, receiver, { partitions: PARTITIONS, worker: false });
    await trackAll(producer, 'First');
    await trackAll(producer, 'Second');
    const destinationsIn = await Promise.all(
      producer.queues.map(async (queue) => {
        const jobs = await queue.getJobs(['waiting', 'prioritized']);
        return [
          ...new Set(jobs.flatMap(({ data }) => data.batches.map((batch) => batch.destination))),
        ].sort();
      }),
    );
    const expected = Array.from({ length: PARTITIONS }, (_, partition) =>
      DESTINATIONS.filter((id) => partitionOf(id, PARTITIONS) === partition).sort(),
    );
    expect(destinationsIn).toEqual(expected);
    const { context } = producer;
    expect(context.get(ANALYTICS_QUEUES)).toHaveLength(PARTITIONS);
    expect(context.get(getQueueToken(ANALYTICS_QUEUE))).toBe(producer.queues[0]);
    expect(producer.queues.map(({ name }) => name)).toEqual([0, 1, 2, 3].map(analyticsQueueName));
    expect(await context.get(DeliveriesService).counts()).toMatchObject({ waiting: 2 * DESTINATIONS.length });

    const worker = await start(url, receiver, { partitions: PARTITIONS });
    await receiver.received(2 * DESTINATIONS.length);
    await worker.settled();
    expect(await context.get(DeliveriesService).counts()).toMatchObject({
      waiting: 0,
      active: 0,
      delayed: 0,
    });
    expect(
      await worker.context.get(AnalyticsHealthIndicator).isHealthy('a', { requireWorker: true }),
    ).toMatchObject({ a: { status: 'up', oldest: 0 } });
  });

  it('lists failed messages of all partitions, the latest first, and replays and removes them', async () => {
    const receiver = await stage.receiver({ answer: ({ url }) => (url.endsWith('d0') ? 200 : 404) });
    const app = await start(server.url(database++), receiver, { partitions: PARTITIONS });
    const deliveries = app.context.get(DeliveriesService);
    for (const name of DESTINATIONS.slice(1)) {
      app.analytics.source(name).track({ userId: 'u1', event: name });
      await app.analytics.flush();
      await app.settled();
    }
    const failed = await deliveries.failed();
    expect(failed.map(({ destination }) => destination)).toEqual(DESTINATIONS.slice(1).reverse());
    expect(await deliveries.failed({ start: 1, end: 2 })).toEqual(failed.slice(1, 3));
    expect(await deliveries.replay({ destination: 'd5' })).toBe(1);
    await receiver.received(DESTINATIONS.length);
    await app.settled();
    expect(await deliveries.counts()).toMatchObject({ failed: DESTINATIONS.length - 1 });

    app.analytics.delete({ userId: 'u1' });
    await until(async () => ((await deliveries.counts()).failed === 0 ? true : undefined));
  });

  it('is delivered by a process with fewer `partitions`, whether it starts earlier or later', async () => {
    const url = server.url(database++);
    const receiver = await stage.receiver();
    const first = await start(url, receiver, {});
    const producer = await start(url, receiver, { partitions: PARTITIONS, worker: false });
    await trackAll(producer, 'Raised');
    await receiver.received(DESTINATIONS.length);
    await first.close();

    await trackAll(producer, 'Lowered');
    await producer.close();
    const last = await start(url, receiver, {});
    await receiver.received(2 * DESTINATIONS.length);
    await last.settled();
    expect(last.queues).toHaveLength(PARTITIONS);
    expect(new Set(eventsIn(receiver.requests))).toEqual(new Set(['Raised', 'Lowered']));
  });

  it('is delivered once by processes with different `partitions` side by side', async () => {
    const url = server.url(database++);
    const receiver = await stage.receiver();
    const few = await start(url, receiver, { partitions: 2 });
    const many = await start(url, receiver, { partitions: PARTITIONS });
    await until(() => (few.queues.length === PARTITIONS ? true : undefined));
    await Promise.all([trackAll(few, 'Of few'), trackAll(many, 'Of many')]);
    await receiver.received(2 * DESTINATIONS.length);
    await Promise.all([few.settled(), many.settled()]);
    expect(eventsIn(receiver.requests)).toEqual([
      ...DESTINATIONS.map(() => 'Of few'),
      ...DESTINATIONS.map(() => 'Of many'),
    ]);
    const counts = await Promise.all(
      [few, many].map(({ context }) => context.get(DeliveriesService).counts()),
    );
    expect(counts[0]).toEqual(counts[1]);
  });

  it('continues with put-back messages when there is room, even in a partition to which nobody adds any more', async () => {
    const connection = server.url(database++);
    let answerTime = 40;
    const receiver = await stage.receiver({
      answer: () => new Promise((resolve) => setTimeout(resolve, answerTime, 200)),
    });
    const id = DESTINATIONS.find((each) => partitionOf(each, PARTITIONS) > 0);
    const options = { connection, connections: 1, webhooks: webhooksTo(receiver, { id }) };
    const producer = await stage.app({ ...options, partitions: PARTITIONS, worker: false });
    for (let n = 0; n < WAITING; n++) producer.analytics.track({ userId: 'u1', event: 'Waiting' });
    await producer.analytics.flush();
    await producer.close();

    const worker = await stage.app({ ...options, partitions: 1 });
    // A message is due when those before it should be delivered at this rate.
    await until(async () => {
      const delayed = await Promise.all(worker.queues.map((queue) => queue.getDelayed()));
      return delayed.flat().some(({ delay }) => delay > LATER_THAN_THIS_TEST) ? true : undefined;
    });
    answerTime = 0;
    await receiver.received(WAITING);
  });

  it('continues with the parts of a batch when a `rateLimit` is removed, in any partition', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({
      connection: server.url(database++),
      partitions: PARTITIONS,
      destinations: { allowPrivateNetwork: true, encryptionKey: false },
    });
    const destinations = app.context.get(DestinationsService);
    const create = (): Promise<{ id: string }> =>
      destinations.create({ tenant: 'acme', urls: [receiver.url()], rateLimit: 0.1 });
    let { id } = await create();
    // With a destination in the first partition, the test would not notice a wrong partition.
    while (partitionOf(id, PARTITIONS) === 0) {
      await destinations.delete(id);
      ({ id } = await create());
    }
    const messages = 20;
    for (let n = 0; n < messages; n++) app.analytics.tenant('acme').track({ userId: 'u1', event: 'E' });
    await app.analytics.flush();
    await receiver.received(1);
    // The last part of the batch would be due after this test. The next part may be in hand.
    await until(async () => {
      const delayed = await app.queues[partitionOf(id, PARTITIONS)]?.getDelayed();
      return delayed?.some(({ delay }) => delay > LATER_THAN_THIS_TEST) === true ? true : undefined;
    });
    await destinations.update(id, { rateLimit: null });
    await receiver.received(messages);
  });

  describe('with processes that add to different numbers of partitions', () => {
    let url: string;
    let backends: QueueBackend[];
    let opened: QueuePartitions[];
    let watches: PartitionWatch[];

    beforeEach(() => {
      url = server.url(database++);
      [backends, opened, watches] = [[], [], []];
    });
    afterEach(async () => {
      for (const watch of watches) watch.close();
      await Promise.all(opened.map((partitions) => partitions.close()));
      await Promise.all(backends.map((backend) => backend.close()));
    });

    async function open(written: number, options: PartitionWatchOptions = {}): Promise<PartitionWatch> {
      const backend = await openBackend(url);
      const partitions = new QueuePartitions(backend, written);
      const watch = new PartitionWatch(partitions, backend.storage, { interval: 5, ...options });
      await watch.start();
      backends.push(backend);
      opened.push(partitions);
      watches.push(watch);
      return watch;
    }

    async function readBy(written: number): Promise<number> {
      const watch = await open(written);
      watch.close();
      return opened.at(-1)?.queues.length ?? 0;
    }

    it('forgets a partition to which nobody adds any more, once it is empty', async () => {
      (await open(PARTITIONS)).close();
      const job = await opened[0]?.queues[3]?.add('batch', { v: 2, batches: [] });
      await open(1, { isWorker: true, usedFor: 50 });
      await new Promise((resolve) => setTimeout(resolve, 200));
      expect(await readBy(1)).toBe(PARTITIONS);
      await job?.remove();
      await until(async () => ((await readBy(1)) === 1 ? true : undefined));
    });

    it('continues to read a partition until the delivered messages in it are removed', async () => {
      const receiver = await stage.receiver();
      const app = await start(url, receiver, { partitions: PARTITIONS });
      await trackAll(app, 'Delivered');
      await receiver.received(DESTINATIONS.length);
      await app.settled();
      await app.close();
      await open(1, { isWorker: true, usedFor: 50 });
      const upper = opened[0]?.queues[PARTITIONS - 1];
      if (upper === undefined) throw new Error('The partition is not read.');
      const looks = jest.spyOn(upper, 'getJobCounts');
      // A partition is not looked at again once it is forgotten.
      await until(() => (looks.mock.calls.length > 2 ? true : undefined));
      expect(await readBy(1)).toBe(PARTITIONS);
      // As `CompletedRetention` does when their time is over.
      for (const queue of opened[0]?.queues ?? []) await queue.clean(0, 1_000, 'completed');
      await until(async () => ((await readBy(1)) === 1 ? true : undefined));
    });

    it('continues to read partitions to which a process may have added in its last seconds', async () => {
      const old = await open(PARTITIONS);
      await open(2);
      await open(1, { isWorker: true, usedFor: 2_000 });
      old.close();
      await new Promise((resolve) => setTimeout(resolve, 200));
      expect(await readBy(1)).toBe(PARTITIONS);
      // The other process still adds to two partitions.
      await until(async () => ((await readBy(1)) === 2 ? true : undefined));
    });
  });
});

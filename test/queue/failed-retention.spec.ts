import { afterEach, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { DeliveriesService, type WebhooksOptions } from '../../src/index.js';
import type { NewJob } from '../../src/queue/batch-job.js';
import { BatchQueue } from '../../src/queue/batch-queue.js';
import { FailedJobs } from '../../src/queue/failed-jobs.js';
import { FailedRetention } from '../../src/queue/failed-retention.js';
import { QUEUE_BACKEND, type QueueBackend } from '../../src/queue/queue-backend.js';
import { RetentionWalk } from '../../src/queue/retention-walk.js';
import type { AnalyticsApp, AppOptions } from '../support/analytics-app.js';
import { describeRedis, describeServers, describeServersOrEmbedded } from '../support/describe-backend.js';
import { putFailedJobs } from '../support/failed-jobs.js';
import { messageIds } from '../support/message-ids.js';
import type { Receiver } from '../support/receiver.js';
import { RedisServer } from '../support/redis-server.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';

/** Milliseconds between polls: failed messages are looked at after seconds, and polling fast keeps a core busy. */
const RARELY = 200;
const SHORT = 'besteffort';
const LONG = 'crm';

/** Returns a destination that keeps no failed messages, and one that keeps them for a week. */
function bothTo(receiver: Receiver): WebhooksOptions[] {
  return [webhooksTo(receiver, { id: SHORT, failedRetention: 0 }), webhooksTo(receiver, { id: LONG })];
}

/** Resolves to the number of failed messages of each destination. */
async function failedIn(app: AnalyticsApp): Promise<Record<string, number>> {
  const failed = await app.context.get(DeliveriesService).failed({ end: 9_999 });
  const counts: Record<string, number> = {};
  for (const { destination = '' } of failed) counts[destination] = (counts[destination] ?? 0) + 1;
  return counts;
}

/** Resolves to the numbers of failed messages when a destination has none left. */
function gone(app: AnalyticsApp, destination: string): Promise<Record<string, number>> {
  return until(async () => {
    const failed = await failedIn(app);
    return failed[destination] === undefined ? failed : undefined;
  }, RARELY);
}

/** Returns a job for each message of a destination. */
function jobsOf(destination: string, ids: readonly string[], body = '{}'): NewJob[] {
  return ids.map((id) => ({
    jobId: `${destination}-${id}`,
    failedRetention: 604_800_000,
    batches: [{ destination, source: 'default', messages: [{ id, body }] }],
  }));
}

/** Makes messages of a destination fail, each in a job of its own. */
async function failEach(app: AnalyticsApp, destination: string, ids: readonly string[]): Promise<void> {
  await app.context.get(BatchQueue).add(jobsOf(destination, ids));
  await app.settled();
}

describeServersOrEmbedded('messages that failed for good', (backend) => {
  const stage = new Stage();

  it('are kept as long as their own destination says, even if they shared a job', async () => {
    const receiver = await stage.receiver({ answer: [400] });
    const app = await stage.app({ connection: backend.connection, webhooks: bothTo(receiver) });
    app.analytics.track({ userId: 'u1', event: 'Failed' });
    await app.analytics.flush();
    await receiver.received(2);
    await app.settled();
    expect(await gone(app, SHORT)).toEqual({ [LONG]: 1 });
  });

  it('are kept as their worker is configured, whatever was configured when they were tracked', async () => {
    const receiver = await stage.receiver({ answer: [400] });
    const options = { connection: backend.connection, flushAt: 1 };
    const before = await stage.app({ ...options, webhooks: webhooksTo(receiver, { id: SHORT }) });
    before.analytics.track({ userId: 'u1', event: 'Failed' });
    await before.failedJobs();
    await before.close();
    const after = await stage.app({ ...options, webhooks: bothTo(receiver) });
    after.analytics.track({ userId: 'u1', event: 'Failed', integrations: { [SHORT]: false } });
    await receiver.received(2);
    await after.settled();
    expect(await gone(after, SHORT)).toEqual({ [LONG]: 1 });
  });
});

describeServers('messages that failed for good', (backend) => {
  const stage = new Stage();

  it('are kept if another message fails that comes from a process whose destinations keep nothing', async () => {
    const receiver = await stage.receiver({ answer: [400] });
    const options = { connection: backend.connection, flushAt: 1 };
    const worker = await stage.app({ ...options, webhooks: bothTo(receiver) });
    const producer = await stage.app({
      ...options,
      webhooks: webhooksTo(receiver, { id: SHORT, failedRetention: 0 }),
      worker: false,
    });
    for (let n = 1; n <= 3; n++) {
      worker.analytics.track({ userId: 'u1', event: 'Failed', integrations: { [SHORT]: false } });
    }
    await receiver.received(3);
    await worker.settled();
    producer.analytics.track({ userId: 'u1', event: 'Failed', integrations: { [LONG]: false } });
    await receiver.received(4);
    await worker.settled();
    expect(await gone(worker, SHORT)).toEqual({ [LONG]: 3 });
  });

  it('are kept as their worker is configured, even if a process that keeps nothing queued them', async () => {
    const receiver = await stage.receiver({ answer: [400] });
    const options = { connection: backend.connection, flushAt: 1 };
    const producer = await stage.app({
      ...options,
      webhooks: webhooksTo(receiver, { id: LONG, failedRetention: 0 }),
      worker: false,
    });
    producer.analytics.track({ userId: 'u1', event: 'Failed' });
    await producer.analytics.flush();
    const worker = await stage.app({ ...options, webhooks: webhooksTo(receiver, { id: LONG }) });
    await receiver.received(1);
    await worker.settled();
    expect(await worker.failedJobs()).toHaveLength(1);
  });

  it('are removed when their time is over, however many others stay', async () => {
    const receiver = await stage.receiver({ answer: [400] });
    const options = { connection: backend.connection, webhooks: bothTo(receiver) };
    await putFailedJobs(options, jobsOf(LONG, messageIds('kept', 2_100)));
    const app = await stage.app(options);
    await failEach(app, SHORT, messageIds('short', 3));
    await until(async () => (await app.queue.getFailedCount()) === 2_100 || undefined, RARELY);
  });

  it('stay if another application queued them for a destination with the same id', async () => {
    const receiver = await stage.receiver({ answer: [400] });
    const start = (writeKey: string, webhooks: AppOptions['webhooks']): Promise<AnalyticsApp> =>
      stage.app({ connection: backend.connection, writeKey, flushAt: 1, webhooks });
    const other = await start('wk_other', webhooksTo(await stage.receiver({ answer: [400] }), { id: SHORT }));
    other.analytics.track({ userId: 'u1', event: 'Of the other one' });
    await other.failedJobs();
    await other.close();
    const app = await start('wk_test', bothTo(receiver));
    await failEach(app, SHORT, ['own']);
    await until(async () => (await app.queue.getFailedCount()) === 1 || undefined, RARELY);
    const failed = await app.context.get(DeliveriesService).failed();
    expect(failed).toMatchObject([{ body: expect.stringContaining('Of the other one') }]);
  });
});

describeServers('the failed messages of a destination that keeps them for an hour', (backend) => {
  const stage = new Stage();
  const retentions = new Map(Object.entries({ audit: 86_400_000, pii: 3_600_000 }));

  afterEach(() => {
    jest.restoreAllMocks();
  });

  /** Makes a process look at failed messages for the first time. The next look would be ten minutes later. */
  async function firstLook(app: AnalyticsApp, made: () => Promise<true | undefined>): Promise<void> {
    const { health, jobStorage } = app.context.get<QueueBackend>(QUEUE_BACKEND);
    const retention = new FailedRetention({
      queues: app.queues,
      storage: jobStorage,
      health,
      marks: { isOwn: () => true },
      retentions,
      otherRetentions: [],
    });
    jest.useFakeTimers({ doNotFake: ['Date', 'nextTick', 'performance', 'queueMicrotask', 'setImmediate'] });
    retention.onApplicationBootstrap();
    jest.advanceTimersByTime(600_000);
    jest.useRealTimers();
    await until(made);
    retention.beforeApplicationShutdown();
  }

  /** Starts an application whose messages failed two hours ago. */
  async function appWith(ids: Record<string, number>): Promise<AnalyticsApp> {
    const jobs = Object.entries(ids).flatMap(([id, count]) => jobsOf(id, messageIds('m', count)));
    const webhooks = [...retentions.keys()].map((id) => ({ id, urls: ['https://hooks.example.com/'] }));
    const options = { connection: backend.connection, webhooks };
    await putFailedJobs(options, jobs, Date.now() - 7_200_000);
    return stage.app(options);
  }

  /** Returns a walk through failed jobs while the queue is up, and what puts messages of a destination into them. */
  async function walked(isUp: () => boolean = () => true): Promise<{
    app: AnalyticsApp;
    walk: RetentionWalk;
    put: (id: string, count: number, ago: number) => Promise<void>;
  }> {
    const webhooks = [...retentions.keys()].map((id) => ({ id, urls: ['https://hooks.example.com/'] }));
    const options = { connection: backend.connection, webhooks };
    const app = await stage.app({ ...options, worker: false });
    const { jobStorage } = app.context.get<QueueBackend>(QUEUE_BACKEND);
    const walk = new RetentionWalk({
      queue: app.queue,
      jobs: new FailedJobs(app.queue, jobStorage),
      retention: 3_600_000,
      retentionOf: ({ destinations: [id = ''] }) => retentions.get(id) ?? 0,
      onKept: () => undefined,
      isGoingOn: isUp,
    });
    const put = (id: string, count: number, ago: number): Promise<void> =>
      putFailedJobs(options, jobsOf(id, messageIds('m', count)), Date.now() - ago);
    return { app, walk, put };
  }

  it('are removed before all older messages are read that another destination keeps for a day', async () => {
    const { app, walk, put } = await walked();
    await put('audit', 450, 7_200_000);
    await put('pii', 1, 3_660_000);
    await walk.goOn();
    expect(await walk.goOn()).toBe(true);
    expect(await failedIn(app)).toEqual({ audit: 450 });
  });

  it('are removed before all older messages are read if they become due during an outage of half an hour', async () => {
    let isUp = true;
    const { app, walk, put } = await walked(() => isUp);
    await put('audit', 450, 7_200_000);
    expect(await walk.goOn()).toBe(true);
    isUp = false;
    await walk.goOn();
    await put('pii', 1, 3_660_000);
    const now = Date.now.bind(Date);
    jest.spyOn(Date, 'now').mockImplementation(() => now() + 1_800_000);
    isUp = true;
    expect(await walk.goOn()).toBe(true);
    jest.restoreAllMocks();
    expect(await failedIn(app)).toEqual({ audit: 450 });
  });

  it('are removed before the older messages are read once more after a day', async () => {
    const { app, walk, put } = await walked();
    await put('audit', 250, 7_200_000);
    while (await walk.goOn());
    await put('pii', 1, 3_660_000);
    const now = Date.now.bind(Date);
    jest.spyOn(Date, 'now').mockImplementation(() => now() + 90_000_000);
    expect(await walk.goOn()).toBe(true);
    jest.restoreAllMocks();
    expect(await failedIn(app)).toEqual({ audit: 250 });
  });

  it('are removed although hundreds of older messages stay that another destination keeps for a day', async () => {
    const app = await appWith({ audit: 450, pii: 1 });
    await firstLook(app, async () => (await app.queue.getFailedCount()) === 450 || undefined);
    expect(await failedIn(app)).toEqual({ audit: 450 });
  });

  it('are all removed at once when their time is over, however many there are', async () => {
    const app = await appWith({ pii: 450 });
    await firstLook(app, async () => (await app.queue.getFailedCount()) === 0 || undefined);
  });

  it('stay until their time is over even if the clock of a worker is eight days ahead', async () => {
    const receiver = await stage.receiver({ answer: [400] });
    const options = { connection: backend.connection, webhooks: webhooksTo(receiver, { id: 'pii' }) };
    await putFailedJobs(options, jobsOf('pii', ['old']), Date.now() - 7_200_000);
    const app = await stage.app(options);
    await failEach(app, 'pii', ['new']);
    const now = Date.now.bind(Date);
    jest.spyOn(Date, 'now').mockImplementation(() => now() + 691_200_000);
    await firstLook(app, async () => ((await app.queue.getJob('pii-old')) === undefined ? true : undefined));
    const failed = await app.context.get(DeliveriesService).failed();
    expect(failed).toMatchObject([{ messageId: 'new' }]);
  });
});

describeRedis('an idle application', () => {
  const stage = new Stage();

  it('does not read kept messages again and again for a destination that keeps none', async () => {
    const server = await RedisServer.create();
    const admin = new Redis(server.url());
    const receiver = await stage.receiver({ answer: [400] });
    const body = JSON.stringify('x'.repeat(50_000));
    const options = { connection: server.url(), webhooks: bothTo(receiver), partitions: 3 };
    await putFailedJobs(options, jobsOf(LONG, messageIds('kept', 100), body));
    const app = await stage.app(options);
    const failed = async (): Promise<number> => {
      const counts = await Promise.all(app.queues.map((queue) => queue.getFailedCount()));
      return counts.reduce((sum, count) => sum + count, 0);
    };
    const sentBefore = await sentBy(admin);
    for (const id of messageIds('short', 2)) {
      await failEach(app, SHORT, [id]);
      await until(async () => (await failed()) === 100 || undefined, RARELY);
    }
    expect((await sentBy(admin)) - sentBefore).toBeLessThan(100 * body.length);
    admin.disconnect();
    await app.close();
    await server.dispose();
  });
});

async function sentBy(admin: Redis): Promise<number> {
  const stats = await admin.info('stats');
  return Number(/total_net_output_bytes:(\d+)/.exec(stats)?.[1]);
}

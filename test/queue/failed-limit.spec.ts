import { expect, it, jest } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { DeliveriesService, DestinationsService, type WebhooksOptions } from '../../src/index.js';
import type { NewJob } from '../../src/queue/batch-job.js';
import { BatchQueue } from '../../src/queue/batch-queue.js';
import { FailedJobs } from '../../src/queue/failed-jobs.js';
import { FailedLimit } from '../../src/queue/failed-limit.js';
import { jobIdFor } from '../../src/queue/job-id.js';
import { partitionOf } from '../../src/queue/partitions.js';
import { QUEUE_BACKEND, type QueueBackend } from '../../src/queue/queue-backend.js';
import type { AnalyticsApp } from '../support/analytics-app.js';
import { describeServersOrEmbedded } from '../support/describe-backend.js';
import { putFailedJobs } from '../support/failed-jobs.js';
import { messageIds } from '../support/message-ids.js';
import type { Receiver } from '../support/receiver.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';

/** Milliseconds between polls: failed messages are looked at after seconds, and polling fast keeps a core busy. */
const RARELY = 200;
const WEEK = 604_800_000;
/** A text that cannot be compressed much. Two jobs with such a text are read at once. */
const LARGE = randomBytes(225_000).toString('base64');
const LINE = 'only the latest 3 messages that failed for good are kept (its `failedLimit`)';

/** Returns two destinations that refuse everything. One keeps at most three messages. */
function bothTo(receiver: Receiver): WebhooksOptions[] {
  return [webhooksTo(receiver, { id: 'dead', failedLimit: 3 }), webhooksTo(receiver, { id: 'crm' })];
}

/** Resolves to the ids of the failed messages of a destination, the latest first. */
async function failedOf(app: AnalyticsApp, destination: string): Promise<string[]> {
  const failed = await app.context.get(DeliveriesService).failed({ destination, end: 9_999 });
  return failed.map(({ messageId }) => messageId);
}

/** Resolves to the failed messages of a destination once there are at most this many. */
function kept(app: AnalyticsApp, destination: string, count: number): Promise<string[]> {
  return until(async () => {
    const ids = await failedOf(app, destination);
    return ids.length <= count ? ids : undefined;
  }, RARELY);
}

/** Returns jobs for messages of a destination, with the given number of messages in each. */
function jobsOf(destination: string, ids: readonly string[], perJob = 1, text = ''): NewJob[] {
  const jobs: NewJob[] = [];
  for (let start = 0; start < ids.length; start += perJob) {
    const messages = ids
      .slice(start, start + perJob)
      .map((id) => ({ id, body: JSON.stringify({ id: [id], text }) }));
    jobs.push({
      jobId: jobIdFor(destination, `${destination}-${start}`),
      failedRetention: WEEK,
      batches: [{ destination, source: 'default', messages }],
    });
  }
  return jobs;
}

/** Makes the messages of jobs fail. */
async function fail(app: AnalyticsApp, jobs: readonly NewJob[]): Promise<void> {
  await app.context.get(BatchQueue).add(jobs);
  await app.settled();
}

describeServersOrEmbedded('a destination that refuses everything', (backend) => {
  const stage = new Stage();

  it('keeps only its latest failed messages, logs that once, and takes none from others', async () => {
    const receiver = await stage.receiver({ answer: [400] });
    const app = await stage.app({ connection: backend.connection, flushAt: 1, webhooks: bothTo(receiver) });
    for (const event of ['1', '2', '3', '4', '5', '6']) {
      app.analytics.track({ userId: 'u1', event, messageId: event });
      await app.analytics.flush();
      await app.settled();
    }
    expect(await kept(app, 'dead', 3)).toEqual(['6', '5', '4']);
    expect(await failedOf(app, 'crm')).toHaveLength(6);
    const deliveries = app.context.get(DeliveriesService);
    expect(await deliveries.counts()).toMatchObject({ failed: 9 });
    app.analytics.track({ userId: 'u1', event: '7', messageId: '7' });
    expect(
      await until(async () => {
        const ids = await failedOf(app, 'dead');
        return ids[0] === '7' && ids.length === 3 ? ids : undefined;
      }, RARELY),
    ).toEqual(['7', '6', '5']);
    expect(app.log.analytics.filter((line) => line.includes(LINE))).toHaveLength(1);
    expect(await deliveries.countFailed({ destination: 'dead' })).toBe(3);
    expect(await deliveries.replay({ destination: 'dead' })).toBe(3);
  });

  it('keeps at least as many messages as its limit, however many are in a job', async () => {
    // The receiver's answer is kept with the message.
    const receiver = await stage.receiver({ answer: [{ status: 400, body: 'outcomes' }] });
    const app = await stage.app({ connection: backend.connection, webhooks: bothTo(receiver) });
    await fail(app, jobsOf('dead', messageIds('m', 8), 2));
    expect((await kept(app, 'dead', 4)).length).toBe(4);
  });

  it('keeps as many messages as the common options say if it was added at run time', async () => {
    const receiver = await stage.receiver({ answer: [400] });
    const app = await stage.app({
      connection: backend.connection,
      flushAt: 1,
      destinations: { allowPrivateNetwork: true, encryptionKey: false, failedLimit: 2 },
    });
    const { id } = await app.context.get(DestinationsService).create({ urls: [receiver.url()] });
    for (const event of ['1', '2', '3']) {
      app.analytics.track({ userId: 'u1', event, messageId: event });
      await app.analytics.flush();
      await app.settled();
    }
    expect(await kept(app, id, 2)).toEqual(['3', '2']);
  });

  it('keeps messages that another application queued for a destination with the same id', async () => {
    const receiver = await stage.receiver({ answer: [400] });
    const options = { connection: backend.connection, flushAt: 1 };
    const others = webhooksTo(await stage.receiver({ answer: [400] }), { id: 'dead' });
    const other = await stage.app({ ...options, writeKey: 'wk_other', webhooks: others });
    other.analytics.track({ userId: 'u1', event: 'Of the other one', messageId: 'other' });
    await other.failedJobs();
    await other.close();
    const app = await stage.app({ ...options, webhooks: bothTo(receiver) });
    await fail(app, jobsOf('dead', messageIds('m', 6)));
    expect(await kept(app, 'dead', 4)).toContain('other');
  });
});

describeServersOrEmbedded('many failed messages', (backend) => {
  const stage = new Stage();

  /** Starts an application whose messages have failed, each in a job of its own. Each holds a text. */
  async function appWith(failed: Record<string, number>, text = ''): Promise<AnalyticsApp> {
    const options = {
      connection: backend.connection,
      webhooks: bothTo(await stage.receiver({ answer: [400] })),
      partitions: backend.name === 'Redis' ? 3 : 1,
    };
    const jobs = Object.entries(failed).flatMap(([id, count]) => jobsOf(id, messageIds(id, count), 1, text));
    await putFailedJobs(options, jobs);
    return stage.app(options);
  }

  /** Returns a limit for all destinations, and the numbers of messages that it removes, in their order. */
  function limitTo(
    most: number,
    app: AnalyticsApp,
    isConfigured = true,
  ): { limit: FailedLimit; removed: [destination: string, messages: number][] } {
    const { health, jobStorage } = app.context.get<QueueBackend>(QUEUE_BACKEND);
    const removed: [destination: string, messages: number][] = [];
    const limit = new FailedLimit({
      queues: app.queues,
      storage: jobStorage,
      health,
      marks: { isOwn: () => true, isConfigured: () => isConfigured },
      limitOf: () => most,
      onRemoved: (...args) => {
        removed.push(args);
      },
    });
    return { limit, removed };
  }

  /** Tells a limit how many messages of each destination have failed, and lets time pass until it looks at them. */
  function look(limit: FailedLimit, failed: Record<string, number>): void {
    jest.useFakeTimers({ doNotFake: ['Date', 'nextTick', 'performance', 'queueMicrotask', 'setImmediate'] });
    for (const [destination, messages] of Object.entries(failed)) limit.failed(destination, messages);
    jest.advanceTimersByTime(5_000);
    jest.useRealTimers();
  }

  it('are counted once each across the pages in which they are read', async () => {
    const failed = { crm: 1_100 };
    const app = await appWith(failed);
    // A process without the destination does not know its limit.
    const [other, own] = [limitTo(1, app, false), limitTo(1_005, app)];
    for (const { limit } of [other, own]) look(limit, failed);
    expect(await until(() => own.removed[0])).toEqual(['crm', 95]);
    for (const { limit } of [other, own]) limit.beforeApplicationShutdown();
    expect(await failedOf(app, 'crm')).toHaveLength(1_005);
  });

  it('are counted once each if they are so large that only a few are read at once', async () => {
    const failed = { crm: 12 };
    const app = await appWith(failed, LARGE);
    const queue = app.queues[partitionOf('crm', app.queues.length)] ?? app.queue;
    const jobs = new FailedJobs(queue, app.context.get<QueueBackend>(QUEUE_BACKEND).jobStorage);
    const ids = jobsOf('crm', messageIds('crm', 12)).map(({ jobId }) => jobId);
    expect(await Promise.all([jobs.sized(ids), jobs.sized(ids.slice(10))])).toMatchObject([
      ids.slice(0, 2).map((id) => ({ id, messages: 1 })),
      ids.slice(10).map((id) => ({ id, messages: 1 })),
    ]);
    const { limit, removed } = limitTo(5, app);
    look(limit, failed);
    await until(() => (removed.length > 0 ? true : undefined));
    limit.beforeApplicationShutdown();
    expect(removed).toEqual([['crm', 7]]);
    expect(await failedOf(app, 'crm')).toEqual(messageIds('crm', 12).slice(-5).reverse());
  });

  it('let the failed messages of another destination have their turn before all of them are counted', async () => {
    const failed = { crm: 300, dead: 10 };
    const app = await appWith(failed);
    const { limit, removed } = limitTo(5, app);
    look(limit, failed);
    await until(() => removed.reduce((sum, [, messages]) => sum + messages, 0) === 300 || undefined);
    limit.beforeApplicationShutdown();
    expect(removed).toEqual([
      ['crm', 95],
      ['dead', 5],
      ['crm', 200],
    ]);
    expect(await failedOf(app, 'crm')).toEqual(messageIds('crm', 300).slice(-5).reverse());
    expect(await failedOf(app, 'dead')).toEqual(messageIds('dead', 10).slice(-5).reverse());
  });
});

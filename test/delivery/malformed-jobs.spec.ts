import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { DeliveriesService } from '../../src/index.js';
import { BacklogUpkeep } from '../../src/queue/backlog-upkeep.js';
import type { BatchJobData } from '../../src/queue/batch-job.js';
import { QUEUE_BACKEND, type QueueBackend } from '../../src/queue/queue-backend.js';
import { createBacklogStore } from '../../src/queue/queue.providers.js';
import type { AnalyticsApp } from '../support/analytics-app.js';
import { describeRedis, describeServersOrEmbedded } from '../support/describe-backend.js';
import { within } from '../../src/shared/within.js';
import { Stage, webhooksTo } from '../support/stage.js';
import type { Receiver } from '../support/receiver.js';
import { RedisServer } from '../support/redis-server.js';
import { until } from '../support/until.js';

const MESSAGE = { id: 'm1', body: '{"type":"track"}', outcomes: [] };
const BATCH = { destination: 'crm', source: 'default', messages: [MESSAGE] };

/** Text that another program may write in place of a job's data. */
const NO_JSON = '<batches/>';

/** Milliseconds, more than enough for jobs that fail at once. */
const PATIENCE = 8_000;

/** Data that any program may add to the queue, by its fault. */
const GARBAGE: Record<string, unknown> = {
  null: null,
  'a text': 'hello',
  'a number': 7,
  'a list': [1, 2],
  'an empty object': {},
  'batches of text': { v: 2, batches: 'x' },
  'no batches': { v: 2, batches: [] },
  'no batches at all': { v: 2 },
  'a batch that is null': { v: 2, batches: [null] },
  'a batch without messages': { v: 2, batches: [{ destination: 'crm', source: 'default' }] },
  'an empty batch': { v: 2, batches: [{ ...BATCH, messages: [] }] },
  'messages of text': { v: 2, batches: [{ ...BATCH, messages: 'x' }] },
  'a message that is null': { v: 2, batches: [{ ...BATCH, messages: [null] }] },
  'a message without a body': { v: 2, batches: [{ ...BATCH, messages: [{ id: 'm1', outcomes: [] }] }] },
  'a message without an id': { v: 2, batches: [{ ...BATCH, messages: [{ ...MESSAGE, id: undefined }] }] },
  'a body that is an object': { v: 2, batches: [{ ...BATCH, messages: [{ ...MESSAGE, body: {} }] }] },
  'outcomes of text': { v: 2, batches: [{ ...BATCH, messages: [{ ...MESSAGE, outcomes: 'x' }] }] },
  'a destination that is a number': { v: 2, batches: [{ ...BATCH, destination: 7 }] },
  'times of text': { v: 2, batches: [{ ...BATCH, firstAttemptAt: 'soon', notBefore: 'later' }] },
  'a sound batch beside a broken one': { v: 2, batches: [BATCH, { ...BATCH, messages: 'x' }] },
  'another version': { v: 99, batches: [BATCH] },
  'no version': { batches: [BATCH] },
};

describeServersOrEmbedded('a job that no client has written', (backend) => {
  const stage = new Stage();

  /** Starts an application with these jobs, and waits until none of them is left to do or the patience is over. */
  async function workOn(jobs: Record<string, unknown>, receiver?: Receiver): Promise<AnalyticsApp> {
    const app = await stage.app({
      connection: backend.connection,
      webhooks: webhooksTo(receiver ?? (await stage.receiver()), { id: 'crm' }),
      unknownJobTimeout: 0,
    });
    for (const [name, data] of Object.entries(jobs)) {
      // The types forbid the data that this test is about.
      await app.queue.add(name, data as BatchJobData, { attempts: 1_000, backoff: 60_000 });
    }
    await within(PATIENCE, app.settled());
    return app;
  }

  it('fails for good at once, with a code of its own', async () => {
    const app = await workOn(GARBAGE);
    const failed = await app.queue.getFailed();
    const codes = failed.map(({ name, failedReason }) => [name, /^\w+/.exec(failedReason)?.[0]]);
    const expected = Object.keys(GARBAGE).map((name) => [name, codeOf(name)]);
    expect(Object.fromEntries(codes)).toEqual(Object.fromEntries(expected));
    expect(await app.queue.getDelayedCount()).toBe(0);
  });

  it('is listed with its error, and affects neither the counts nor a replay', async () => {
    const app = await workOn(GARBAGE);
    const deliveries = app.context.get(DeliveriesService);
    const broken = Object.keys(GARBAGE).length;

    const failed = await deliveries.failed();
    expect(failed.length).toBeGreaterThanOrEqual(broken);
    expect(new Set(failed.map(({ error }) => error))).toEqual(new Set(['INVALID_JOB', 'UNKNOWN_JOB_FORMAT']));
    expect(await deliveries.failed({ error: 'INVALID_JOB', start: 0, end: 0 })).toHaveLength(1);
    expect(await deliveries.counts()).toMatchObject({ waiting: 0, active: 0, delayed: 0 });
    expect((await deliveries.counts()).failed).toBeGreaterThanOrEqual(broken);
    expect(typeof (await deliveries.replay())).toBe('number');
    expect(typeof (await deliveries.replay({ destination: 'crm', error: 'INVALID_JOB' }))).toBe('number');
  });

  it('is logged in one line that names the job but quotes none of it', async () => {
    const app = await workOn({ broken: { v: 2, batches: [{ ...BATCH, messages: 'secret' }] } });
    const [line, ...others] = app.log.errors;
    expect(others).toEqual([]);
    expect(line).toMatch(/^error: .*job/);
    expect(line).not.toMatch(/secret/);
  });

  it('does not hold back other messages for its destination', async () => {
    const receiver = await stage.receiver();
    const app = await workOn(GARBAGE, receiver);
    const messageId = app.analytics.track({ userId: 'u1', event: 'Sound' });
    await app.analytics.flush();
    await within(PATIENCE, app.settled());
    expect(receiver.requests.map(({ headers }) => headers['webhook-id'])).toEqual([messageId]);
    expect(await app.queue.getJobCounts('wait', 'active', 'delayed')).toEqual({
      wait: 0,
      active: 0,
      delayed: 0,
    });
  });
});

describeRedis('a job whose data is not JSON', () => {
  const stage = new Stage();
  let server: RedisServer;
  beforeAll(async () => {
    server = await RedisServer.create();
  });
  afterAll(() => server.dispose());

  /** Starts an application with such a job in a paused queue. Resolves to both. */
  async function appWithJob(
    connection: string,
    receiver: Receiver,
    retention?: number,
  ): Promise<{ app: AnalyticsApp; jobId: string }> {
    const app = await stage.app({
      connection,
      webhooks: webhooksTo(receiver, { id: 'crm', ...(retention && { failedRetention: retention }) }),
    });
    await app.queue.pause();
    const options = retention === undefined ? {} : { removeOnFail: { age: retention / 1_000 } };
    const { id: jobId = '' } = await app.queue.add('batch', { v: 2, batches: [BATCH] }, options);
    const redis = new Redis(connection);
    await redis.hset(app.queue.toKey(jobId), 'data', NO_JSON);
    redis.disconnect();
    return { app, jobId };
  }

  it('fails for good at once, is listed with its error, and does not hold back other messages', async () => {
    const receiver = await stage.receiver();
    const { app, jobId } = await appWithJob(server.url(1), receiver);
    const deliveries = app.context.get(DeliveriesService);
    expect(await deliveries.counts()).toMatchObject({ waiting: 1, failed: 0 });
    await app.queue.resume();
    const [job] = await app.failedJobs();
    expect(job?.failedReason).toMatch(/^INVALID_JOB: /);

    const messageId = app.analytics.track({ userId: 'u1', event: 'Sound' });
    await app.analytics.flush();
    await app.settled();
    expect(receiver.requests.map(({ headers }) => headers['webhook-id'])).toEqual([messageId]);
    expect(await deliveries.failed()).toMatchObject([
      { messageId: jobId, error: 'INVALID_JOB', failedAt: job?.finishedOn, body: JSON.stringify(NO_JSON) },
    ]);
    expect(await deliveries.counts()).toMatchObject({ waiting: 0, active: 0, delayed: 0, failed: 1 });
    expect(await deliveries.replay()).toBe(0);
    expect(app.log.errors).toEqual([expect.stringMatching(/^error: Expected `data` of the job/)]);
  });

  it('does not prevent the count of waiting messages', async () => {
    const { app } = await appWithJob(server.url(2), await stage.receiver());
    await app.queue.add('batch', { v: 2, batches: [BATCH] });
    const { storage, jobStorage } = app.context.get<QueueBackend>(QUEUE_BACKEND);
    const store = createBacklogStore(storage);
    await store.add(new Map([['crm', 90]]));
    const parts = { queues: app.queues, storage: jobStorage, store, limitOf: () => 100 };
    await new BacklogUpkeep(parts, { quietTime: 50 }).recount();
    expect(await store.all()).toEqual(new Map([['crm', 1]]));
  });

  it('is removed when its retention is over', async () => {
    const { app } = await appWithJob(server.url(3), await stage.receiver(), 1_000);
    await app.queue.resume();
    await app.failedJobs();
    await until(async () => ((await app.queue.getFailedCount()) === 0 ? true : undefined));
  });
});

function codeOf(name: string): string {
  return name === 'another version' ? 'UNKNOWN_JOB_FORMAT' : 'INVALID_JOB';
}

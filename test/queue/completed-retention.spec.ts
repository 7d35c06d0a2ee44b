import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { BatchQueue } from '../../src/queue/batch-queue.js';
import { CompletedRetention } from '../../src/queue/completed-retention.js';
import { QUEUE_BACKEND, type QueueBackend } from '../../src/queue/queue-backend.js';
import type { AnalyticsApp } from '../support/analytics-app.js';
import { describeServersOrEmbedded } from '../support/describe-backend.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** More jobs than are removed at once. */
const MANY = 1_100;

/** Keys: completed jobs by their time. Arguments: an id, and milliseconds. */
const MAKE_OLDER_ON_REDIS = `redis.call('ZINCRBY', KEYS[1], -ARGV[2], ARGV[1])`;

/** $1 id, $2 milliseconds */
const MAKE_OLDER = `UPDATE bullmq.job SET finished_at_ms = finished_at_ms - $2::bigint WHERE id = $1`;

/** Keys: completed jobs by their time. Arguments: the prefix of the jobs' keys, an id and a number. */
const COPY_ON_REDIS = `
  local time = redis.call('ZSCORE', KEYS[1], ARGV[2])
  for n = 1, ARGV[3] do
    redis.call('ZADD', KEYS[1], time, 'copy-' .. n)
    redis.call('HSET', ARGV[1] .. 'copy-' .. n, 'data', '{}')
  end`;

/** $1 id, $2 number */
const COPY = `
  INSERT INTO bullmq.job (queue, id, seq, name, state, data, added_at_ms, finished_at_ms)
  SELECT queue, 'copy-' || n, n, name, state, data, added_at_ms, finished_at_ms
  FROM bullmq.job, generate_series(1, $2::integer) AS n WHERE id = $1`;

it('Completed jobs are not looked for by a process that began to close before it had started', () => {
  jest.useFakeTimers();
  const claim = jest.fn(() => Promise.resolve(false));
  const retention = new CompletedRetention({
    queues: [],
    storage: { kind: 'postgres', pool: { query: () => Promise.reject(new Error('It is closed.')) } },
    store: { claim },
    health: { isUp: true, report: () => false },
    age: 300,
    isWorker: true,
  });
  retention.beforeApplicationShutdown();
  retention.onApplicationBootstrap();
  jest.advanceTimersByTime(MINUTE);
  jest.useRealTimers();
  expect(claim).not.toHaveBeenCalled();
});

describeServersOrEmbedded('a completed job', (backend) => {
  const stage = new Stage();
  let app: AnalyticsApp;

  beforeEach(async () => {
    // Fakes only `setInterval`.
    jest.useFakeTimers({
      doNotFake: [
        ...(['Date', 'hrtime', 'nextTick', 'performance', 'queueMicrotask'] as const),
        ...(['setImmediate', 'clearImmediate', 'setTimeout', 'clearTimeout'] as const),
      ],
    });
    const receiver = await stage.receiver();
    app = await stage.app({ connection: backend.connection, webhooks: webhooksTo(receiver) });
    await app.context.get(BatchQueue).add(
      ['old', 'new'].map((id) => ({
        jobId: id,
        failedRetention: MINUTE,
        batches: [{ destination: 'webhooks', source: 'default', messages: [{ id, body: '{}' }] }],
      })),
    );
    await receiver.received(2);
    await app.settled();
    await makeOlder('old', HOUR);
  });
  afterEach(() => {
    jest.useRealTimers();
    jest.restoreAllMocks();
  });

  async function makeOlder(id: string, milliseconds: number): Promise<void> {
    const { jobStorage } = app.context.get<QueueBackend>(QUEUE_BACKEND);
    if (jobStorage.kind === 'postgres') await jobStorage.pool.query(MAKE_OLDER, [id, milliseconds]);
    else await jobStorage.client.eval(MAKE_OLDER_ON_REDIS, 1, app.queue.toKey('completed'), id, milliseconds);
  }

  async function copy(id: string, times: number): Promise<void> {
    const { jobStorage } = app.context.get<QueueBackend>(QUEUE_BACKEND);
    if (jobStorage.kind === 'postgres') {
      await jobStorage.pool.query(COPY, [id, times]);
      return;
    }
    const keys = [app.queue.toKey('completed'), app.queue.toKey('')];
    await jobStorage.client.eval(COPY_ON_REDIS, 1, ...keys, id, times);
  }

  /** Resolves when this many completed jobs are left. */
  const left = (count: number): Promise<true> =>
    until(async () => (await app.queue.getCompletedCount()) === count || undefined);

  it('is removed when its time is over, though no other job is completed', async () => {
    expect(await app.queue.getCompletedCount()).toBe(2);
    jest.advanceTimersByTime(MINUTE);
    await left(1);
    expect(await app.queue.getJob('old')).toBeUndefined();
    expect(await app.queue.getJob('new')).toBeDefined();
  });

  it('is removed with all others of that age, however many there are', async () => {
    await copy('old', MANY);
    expect(await app.queue.getCompletedCount()).toBe(MANY + 2);
    jest.advanceTimersByTime(MINUTE);
    await left(1);
    expect(await app.queue.getJob('new')).toBeDefined();
  });

  it('stays until its time is over even if the clock of a worker is an hour ahead', async () => {
    const now = Date.now.bind(Date);
    jest.spyOn(Date, 'now').mockImplementation(() => now() + HOUR);
    jest.advanceTimersByTime(MINUTE);
    await left(1);
    expect(await app.queue.getJob('new')).toBeDefined();
  });
});

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { DestinationRecord, DestinationStore } from '../../src/options/destination-store.js';
import { BATCH_JOB_VERSION, type QueuedBatch } from '../../src/queue/batch-job.js';
import type { AnalyticsApp, AppOptions } from '../support/analytics-app.js';
import { describeServersOrEmbedded, describeRedis } from '../support/describe-backend.js';
import { eventsIn } from '../support/received-message.js';
import { RedisServer } from '../support/redis-server.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';

const JOBS = 1_000;
/** Jobs that are looked at again within any second. One by one, they are twenty. */
const MOST_A_SECOND = 40;
/** BullMQ multiplies the due time by this factor in the scores of delayed jobs. */
const DUE_FACTOR = 4_096;

/** Tables of the application that cannot be read for a while. */
class BrokenTable implements DestinationStore {
  readonly rows: DestinationRecord[] = [];
  isBroken = false;

  findByTenant(tenant: string | undefined): Promise<DestinationRecord[]> {
    return Promise.resolve(this.rows.filter((row) => row.tenant === tenant));
  }

  findById(id: string): Promise<DestinationRecord | undefined> {
    if (this.isBroken) return Promise.reject(new Error('row cannot be read'));
    return Promise.resolve(this.rows.find((row) => row.id === id));
  }
}

function batchFor(destination: string): QueuedBatch {
  const message = { id: 'm', body: '{"type":"track","event":"Shared"}', outcomes: [] };
  return { destination, source: 'default', messages: [message] };
}

function brokenTable(): BrokenTable {
  const table = new BrokenTable();
  table.isBroken = true;
  return table;
}

describeRedis('a thousand jobs of a destination', () => {
  const stage = new Stage();
  let server: RedisServer;
  let admin: Redis;
  let database = 0;

  beforeAll(async () => {
    server = await RedisServer.create();
  });
  afterAll(() => server.dispose());

  async function start(options: AppOptions): Promise<AnalyticsApp> {
    const connection = server.url(++database);
    admin = new Redis(connection);
    return stage.app({ connection, webhooks: webhooksTo(await stage.receiver()), ...options });
  }

  /** Resolves to the times at which the jobs are due again, in milliseconds since the epoch, once all of them wait. */
  async function dueTimes(app: AnalyticsApp): Promise<number[]> {
    return until(async () => {
      const entries = await admin.zrange(app.queue.toKey('delayed'), '0', '-1', 'WITHSCORES');
      // Jobs that are being looked at are missing here.
      if (entries.length !== 2 * JOBS) return undefined;
      return entries.filter((_, index) => index % 2 === 1).map((score) => Number(score) / DUE_FACTOR);
    });
  }

  it.each<[string, AppOptions]>([
    ['that a worker does not have', {}],
    ['for which the store of the application throws', { destinations: { store: brokenTable() } }],
  ])('%s are looked at again one by one', async (_, options) => {
    const app = await start(options);
    const data = { v: BATCH_JOB_VERSION, batches: [batchFor('unusable')] };
    await app.queue.addBulk(Array.from({ length: JOBS }, () => ({ name: 'batch', data })));
    const times = await dueTimes(app);
    admin.disconnect();
    const mostInASecond = Math.max(
      ...times.map((from) => times.filter((time) => time >= from && time < from + 1_000).length),
    );
    expect(mostInASecond).toBeLessThan(MOST_A_SECOND);
  });
});

describeRedis('more destinations that cannot be looked up than log lines can be remembered', () => {
  const stage = new Stage();
  let server: RedisServer;

  beforeAll(async () => {
    server = await RedisServer.create();
  });
  afterAll(() => server.dispose());

  it('are logged in five lines', async () => {
    const app = await stage.app({
      connection: server.url(),
      webhooks: webhooksTo(await stage.receiver()),
      destinations: { store: brokenTable() },
    });
    const ids = Array.from({ length: 1_500 }, (_, n) => `hook-${n}`);
    await app.queue.addBulk(
      ids.map((id) => ({ name: 'batch', data: { v: BATCH_JOB_VERSION, batches: [batchFor(id)] } })),
    );
    await until(async () => (await app.queue.getDelayedCount()) === ids.length || undefined);
    const told = app.log.analytics.filter((line) =>
      line.startsWith('warn: Cannot deliver to the destination "hook-'),
    );
    expect(told).toHaveLength(5);
  });
});

describeServersOrEmbedded('a job of several destinations that cannot be looked up', (backend) => {
  const stage = new Stage();

  it('stays one job until they can be looked up, without the destinations that have got their messages', async () => {
    const table = brokenTable();
    const [one, two, own] = [await stage.receiver(), await stage.receiver(), await stage.receiver()];
    table.rows.push({ id: 'one', tenant: 'acme', urls: [one.url()] });
    table.rows.push({ id: 'two', tenant: 'acme', urls: [two.url()] });
    const app = await stage.app({
      connection: backend.connection,
      webhooks: webhooksTo(own, { id: 'own' }),
      destinations: { store: table, allowPrivateNetwork: true },
    });
    const batches = ['one', 'own', 'two'].map(batchFor);
    await app.queue.add('batch', { v: BATCH_JOB_VERSION, batches });
    const [job] = await until(async () => {
      const delayed = await app.queue.getDelayed();
      return delayed.length > 0 ? delayed : undefined;
    });
    expect(job?.data.batches.map(({ destination }) => destination)).toEqual(['one', 'two']);
    expect(await app.queue.getJobCounts('waiting', 'active', 'delayed')).toEqual({
      waiting: 0,
      active: 0,
      delayed: 1,
    });

    table.isBroken = false;
    await app.settled();
    expect([one, two, own].map(({ requests }) => eventsIn(requests))).toEqual([
      ['Shared'],
      ['Shared'],
      ['Shared'],
    ]);
  });
});

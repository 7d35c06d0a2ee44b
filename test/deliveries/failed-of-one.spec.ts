import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { DeliveriesService, DestinationsService } from '../../src/index.js';
import { BatchStore } from '../../src/queue/batch-store.js';
import { jobIdFor } from '../../src/queue/job-id.js';
import { JobIds } from '../../src/queue/job-ids.js';
import { QUEUE_BACKEND, type QueueBackend } from '../../src/queue/queue-backend.js';
import type { AnalyticsApp } from '../support/analytics-app.js';
import { describeRedis } from '../support/describe-backend.js';
import { putFailedJobs } from '../support/failed-jobs.js';
import { messageIn } from '../support/received-message.js';
import type { Receiver } from '../support/receiver.js';
import { RedisServer } from '../support/redis-server.js';
import { destinationsBySource, Stage } from '../support/stage.js';

const OF_ACME = 40;
const OF_GLOBEX = 3;
const HOUR = 3_600_000;

describeRedis('failed messages that are mostly of one destination', () => {
  const stage = new Stage();
  let server: RedisServer;
  let admin: Redis;

  beforeAll(async () => {
    server = await RedisServer.create();
    admin = new Redis(server.url());
  });
  beforeEach(() => admin.flushall());
  afterAll(async () => {
    admin.disconnect();
    await server.dispose();
  });

  async function track(app: AnalyticsApp, source: string, event: string): Promise<void> {
    app.analytics.source(source).track({ userId: 'u1', event });
    await app.analytics.flush();
  }

  /** Starts an application with failed messages of both destinations, in jobs of their own but for one shared job. */
  async function start(): Promise<{ app: AnalyticsApp; globex: Receiver }> {
    const [acme, globex] = [await stage.receiver({ answer: [404] }), await stage.receiver({ answer: [404] })];
    const app = await stage.app({
      connection: server.url(),
      ...destinationsBySource({ acme: acme.url(), globex: globex.url() }),
    });
    for (let n = 0; n < OF_ACME; n++) await track(app, 'acme', `Acme ${n}`);
    for (let n = 1; n < OF_GLOBEX; n++) await track(app, 'globex', `Globex ${n}`);
    app.analytics.source('acme').track({ userId: 'u1', event: 'Together' });
    app.analytics.source('globex').track({ userId: 'u1', event: 'Together' });
    await app.analytics.flush();
    await app.settled();
    return { app, globex };
  }

  /** Returns how many jobs `work` reads. */
  async function jobsRead(work: () => Promise<unknown>): Promise<number> {
    await admin.call('CONFIG', 'RESETSTAT');
    await work();
    const stats = await admin.info('commandstats');
    return Number(/cmdstat_hgetall:calls=(\d+)/.exec(stats)?.[1] ?? 0);
  }

  it('are searched page by page by their job ids, even if many failed at the same time', async () => {
    const { app, globex } = await start();
    const key = app.queue.toKey('failed');
    const added = Array.from({ length: 12_500 }, (_, n) => `other${n}-d00000000`);
    // The latest 5,000 failed within one millisecond.
    const scores = added.flatMap((id, n) => [2_000_000_000_000 + Math.min(n, 7_500), id]);
    await admin.zadd(key, ...scores);
    await admin.call('CONFIG', 'RESETSTAT');
    const failed = await app.context.get(DeliveriesService).failed({ destination: 'globex', waiting: false });
    expect(failed).toHaveLength(OF_GLOBEX);
    expect(globex.requests).toHaveLength(OF_GLOBEX);
    const stats = await admin.info('commandstats');
    expect(Number(/cmdstat_zrevrangebyscore:calls=(\d+)/.exec(stats)?.[1])).toBeGreaterThan(12);
    // The module and BullMQ read other sets now and then. Paging by rank would add a call for each page.
    const byRank = stats.matchAll(/cmdstat_(?:zrevrange|zrange):calls=(\d+)/g);
    expect(
      Array.from(byRank, ([, calls]) => Number(calls)).reduce((sum, calls) => sum + calls, 0),
    ).toBeLessThan(6);

    const ids: string[] = [];
    for await (const page of app.context.get(BatchStore).ids('failed')) ids.push(...page);
    const all = await admin.zrevrange(key, 0, -1);
    expect(ids).toEqual(all);
  });

  it('have each job id listed exactly once, even if the listed ids are removed meanwhile', async () => {
    const app = await stage.app({ connection: server.url(), webhooks: [], destinations: {} });
    const key = app.queue.toKey('failed');
    const added = Array.from({ length: 3_500 }, (_, n) => `job-${n}`);
    // The latest 2,500 failed within one millisecond.
    await admin.zadd(key, ...added.flatMap((id, n) => [2_000_000_000_000 + Math.min(n, 1_000), id]));
    const all = await admin.zrevrange(key, 0, -1);
    const ids = new JobIds(app.queue, app.context.get<QueueBackend>(QUEUE_BACKEND).jobStorage);
    const older: string[] = [];
    const place = ['2000000001000', all[1_234] ?? ''] as const;
    for await (const page of ids.failedAfter(place, new Set(['acme']))) older.push(...page);
    expect(older).toEqual(all.slice(1_235));
    const found: string[] = [];
    for await (const page of ids.inState('failed')) {
      found.push(...page);
      await admin.zrem(key, ...page);
    }
    expect(found).toEqual(all);
  });

  it('are found, counted and replayed for another destination without reading the rest', async () => {
    const { app, globex } = await start();
    const deliveries = app.context.get(DeliveriesService);
    const ofGlobex = { destination: 'globex' };
    const failed = await deliveries.failed(ofGlobex);
    expect(failed.map(({ body }) => (JSON.parse(body) as { event: string }).event).sort()).toEqual([
      'Globex 1',
      'Globex 2',
      'Together',
    ]);
    expect(await deliveries.countFailed()).toBe(OF_ACME + 1 + OF_GLOBEX);
    expect(await deliveries.countFailed(ofGlobex)).toBe(OF_GLOBEX);
    expect(await jobsRead(() => deliveries.failed(ofGlobex))).toBe(OF_GLOBEX);
    expect(await jobsRead(() => deliveries.countFailed(ofGlobex))).toBe(OF_GLOBEX);

    const before = globex.requests.length;
    expect(await deliveries.replay(ofGlobex)).toBe(OF_GLOBEX);
    await app.settled();
    const replayed = globex.requests.slice(before).map((request) => messageIn(request).event);
    expect(replayed.sort()).toEqual(['Globex 1', 'Globex 2', 'Together']);
    // The replayed messages have failed again, in jobs whose ids name the destination as well.
    expect(await jobsRead(() => deliveries.failed(ofGlobex))).toBe(OF_GLOBEX);
  });

  it('are read only down to the earliest time that is asked for', async () => {
    const options = {
      connection: server.url(),
      webhooks: { id: 'acme', urls: ['https://receiver.example'] },
    };
    const now = Date.now();
    /** Puts messages that failed for good in jobs of their own. */
    const put = (name: string, count: number, failedAt: number): Promise<void> => {
      const jobs = Array.from({ length: count }, (_, n) => ({
        jobId: jobIdFor('acme', `${name}-${n}`),
        failedRetention: 604_800_000,
        batches: [
          {
            destination: 'acme',
            source: 'default',
            messages: [{ id: `${name}-${n}`, body: '{}', outcomes: [] }],
          },
        ],
      }));
      return putFailedJobs(options, jobs, failedAt);
    };
    await put('old', OF_ACME, now - HOUR);
    await put('new', OF_GLOBEX, now);
    const app = await stage.app({ ...options, worker: false });
    const deliveries = app.context.get(DeliveriesService);
    const query = { destination: 'acme', from: now - 1_000, waiting: false };
    const read = await jobsRead(async () => {
      expect(await deliveries.failed(query)).toHaveLength(OF_GLOBEX);
    });
    expect(read).toBeLessThan(OF_ACME);
    const all = await deliveries.failed({ ...query, from: now - 2 * HOUR });
    expect(all).toHaveLength(OF_ACME + OF_GLOBEX);
  });

  it('are replayed for another destination, when it is enabled, without reading the rest', async () => {
    const globex = await stage.receiver();
    const app = await stage.app({
      connection: server.url(),
      webhooks: [],
      destinations: { allowPrivateNetwork: true },
    });
    const destinations = app.context.get(DestinationsService);
    const create = (tenant: string) => destinations.create({ tenant, urls: [globex.url()] });
    const ids = { acme: (await create('acme')).id, globex: (await create('globex')).id };
    await app.queue.pause();
    for (let n = 0; n < OF_ACME + OF_GLOBEX; n++) {
      app.analytics.tenant(n < OF_ACME ? 'acme' : 'globex').track({ userId: 'u1', event: 'Kept' });
      await app.analytics.flush();
    }
    await destinations.disable(ids.acme);
    await destinations.disable(ids.globex);
    await app.queue.resume();
    await app.settled();
    expect(await app.context.get(DeliveriesService).countFailed()).toBe(OF_ACME + OF_GLOBEX);
    const read = await jobsRead(async () => {
      await destinations.enable(ids.globex);
      await globex.received(OF_GLOBEX);
    });
    expect(read).toBeLessThan(OF_ACME);
  });
});

import { afterAll, beforeAll, beforeEach, expect, it, jest } from '@jest/globals';
import { metrics } from '@opentelemetry/api';
import type { MetricData, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import pg from 'pg';
import {
  AnalyticsHealthIndicator,
  DeliveriesService,
  DestinationNotFoundError,
  DestinationsService,
} from '../../src/index.js';
import { createDeletionStore } from '../../src/deliveries/deleted-users.js';
import { userKey } from '../../src/deliveries/deletion-key.js';
import { PostgresDeletionStore } from '../../src/deliveries/postgres-deletion-store.js';
import { ConnectionTurns } from '../../src/queue/postgres/connection-turns.js';
import { QUEUE_BACKEND, type QueueBackend, type QueuePool } from '../../src/queue/queue-backend.js';
import type { AnalyticsApp, AppOptions } from '../support/analytics-app.js';
import { describeWith } from '../support/describe-backend.js';
import { newMetricReader } from '../support/metric-reader.js';
import { openBackend } from '../support/open-backend.js';
import { PostgresServer } from '../support/postgres-server.js';
import { PostgresSession } from '../support/postgres-session.js';
import type { Receiver } from '../support/receiver.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';

/** A lock such as `VACUUM FULL` or `REINDEX` takes. */
const LOCK_HISTORY =
  'LOCK TABLE nestjs_analytics.delivery_entry, nestjs_analytics.delivery_hour IN ACCESS EXCLUSIVE MODE';
const LOCK_RATE_LIMITS = 'LOCK TABLE nestjs_analytics.rate_limit IN ACCESS EXCLUSIVE MODE';
const LOCK_DELETIONS = 'LOCK TABLE nestjs_analytics.deletion IN ACCESS EXCLUSIVE MODE';
const LOCK_DESTINATIONS =
  'LOCK TABLE nestjs_analytics.destination, nestjs_analytics.destination_tenant IN ACCESS EXCLUSIVE MODE';
/** A lock such as a change of a tenant's destinations holds until it is committed. */
const LOCK_CHANGES = `SELECT 1 FROM nestjs_analytics.destination_tenant WHERE tenant = 'busy' FOR UPDATE`;
const DESTINATIONS = { encryptionKey: false } as const;
const URLS = ['https://hooks.example.com/'];
/** More than the connections of the queue's pool. */
const MANY = 20;
/** In seconds, shorter than the pause before an unanswered query is repeated. */
const PERIOD = 1;

interface Delivering {
  readonly app: AnalyticsApp;
  readonly receiver: Receiver;
  readonly destinations: DestinationsService;
  readonly deliveries: DeliveriesService;
  /** Resolves when one more message was taken, handed out and delivered. */
  readonly deliver: () => Promise<void>;
}

describeWith('postgres', PostgresServer.installed, 'a PostgreSQL that leaves questions unanswered', () => {
  const stage = new Stage();
  let server: PostgresServer;
  let connection: string;
  let other: PostgresSession;

  beforeAll(async () => {
    server = await PostgresServer.create();
  });
  beforeEach(async () => {
    connection = await server.createDatabase();
    other = await stage.add(PostgresSession.open(connection));
  });
  afterAll(async () => {
    metrics.disable();
    await server.dispose();
  });

  /** Starts an application that has delivered its first message. */
  async function start(options: AppOptions = {}): Promise<Delivering> {
    const receiver = await stage.receiver();
    const app = await stage.app({ connection, flushAt: 1, webhooks: webhooksTo(receiver), ...options });
    const deliver = async (): Promise<void> => {
      const { length } = receiver.requests;
      app.analytics.track({ userId: 'u1', event: 'E' });
      await receiver.received(length + 1);
    };
    await deliver();
    const { context } = app;
    const [destinations, deliveries] = [context.get(DestinationsService), context.get(DeliveriesService)];
    return { app, receiver, destinations, deliveries, deliver };
  }

  /** The same, and the history has the first delivery. */
  async function startWithHistory(options: AppOptions = {}): Promise<Delivering> {
    const started = await start(options);
    await until(async () => (await started.deliveries.recent({ destination: 'webhooks' })).at(0));
    return started;
  }

  /** Starts an application without a worker, and registers a reader of its metrics. */
  async function startMeasured(): Promise<{ app: AnalyticsApp; reader: PeriodicExportingMetricReader }> {
    const reader = newMetricReader();
    const webhooks = { urls: URLS };
    const app = await stage.app({ connection, webhooks, worker: false, shutdownTimeout: 2_000 });
    return { app, reader };
  }

  /** Does work while nobody can read or count jobs. */
  function whileJobsAreLocked<T>(work: () => Promise<T>): Promise<T> {
    return other.holding('LOCK TABLE bullmq.job IN ACCESS EXCLUSIVE MODE', work);
  }

  async function openPool(): Promise<QueuePool> {
    const { storage } = await stage.add(openBackend(connection));
    if (storage.kind !== 'postgres') throw new Error('this is not PostgreSQL');
    return storage.pool;
  }

  it('still takes and hands out jobs, however often its health is checked', async () => {
    const { app, deliver } = await start({ shutdownTimeout: 2_000 });
    const health = app.context.get(AnalyticsHealthIndicator);
    expect((await health.isHealthy('analytics', { timeout: 10_000 })).analytics.status).toBe('up');
    // As when somebody shrinks or changes the table.
    await other.holding('LOCK TABLE nestjs_analytics.backlog IN ACCESS EXCLUSIVE MODE', async () => {
      for (let n = 0; n < MANY; n++) {
        const { analytics } = await health.isHealthy('analytics', { timeout: 10 });
        expect(analytics.reasons).toEqual(['The queue did not answer within 10 ms.']);
      }
      await deliver();
    });
    expect((await health.isHealthy('analytics', { timeout: 10_000 })).analytics.status).toBe('up');
  });

  it('still takes and hands out jobs, however often the history of deliveries is read', async () => {
    const { deliveries, deliver } = await startWithHistory();
    const { reads } = await other.holding(LOCK_HISTORY, async () => {
      const asked = Array.from({ length: MANY }, () => [
        deliveries.recent({ destination: 'webhooks' }),
        deliveries.stats({ destination: 'webhooks' }),
        deliveries.totals(),
      ]);
      await deliver();
      await other.waiting(1);
      // Two readers, and the sessions that write the history and remove old entries.
      expect(await other.waitingNow()).toBeLessThanOrEqual(4);
      return { reads: Promise.all(asked.flat()) };
    });
    expect(await reads).toHaveLength(3 * MANY);
  });

  it('still takes and hands out jobs, however many destinations are deleted with their history', async () => {
    const { destinations, deliver } = await startWithHistory({ destinations: DESTINATIONS });
    const ids: string[] = [];
    while (ids.length < MANY) ids.push((await destinations.create({ tenant: 'acme', urls: URLS })).id);
    const { deletions } = await other.holding(LOCK_HISTORY, async () => {
      const asked = ids.map((id) => destinations.delete(id));
      await until(async () => ((await destinations.list()).destinations.length === 0 ? true : undefined));
      await deliver();
      return { deletions: Promise.all(asked) };
    });
    expect(await deletions).toHaveLength(MANY);
  });

  it.each([10, 3])(
    'still takes and hands out jobs, however many destinations are read, with up to %i connections',
    async (max) => {
      const { app, receiver, destinations, deliveries, deliver } = await start({
        // Only the settings of this pool are used.
        connection: new pg.Pool({ connectionString: connection, max }),
        destinations: DESTINATIONS,
      });
      const { id } = await destinations.create({ tenant: 'acme', urls: URLS });
      const { reads } = await other.holding(LOCK_DESTINATIONS, async () => {
        const asked = Array.from({ length: MANY }, (_, n) => {
          app.analytics.tenant(`tenant-${n}`).track({ userId: 'u1', event: 'Looked up' });
          return [
            destinations.get(id),
            destinations.list({ tenant: `tenant-${n}` }),
            destinations.update(id, { metadata: { [n]: true } }),
            expect(deliveries.recent({ destination: `dst_${n}` })).rejects.toThrow(DestinationNotFoundError),
          ];
        });
        await other.waiting(2);
        await deliver();
        expect(await other.waitingNow()).toBeLessThan(max);
        return { reads: Promise.all(asked.flat()) };
      });
      expect(await reads).toHaveLength(4 * MANY);
      await receiver.received(MANY + 2);
    },
  );

  it('still takes jobs, and changes of other tenants, however many changes of one tenant wait', async () => {
    const { destinations, deliver } = await start({ destinations: DESTINATIONS });
    const create = (tenant: string): Promise<unknown> => destinations.create({ tenant, urls: URLS });
    await create('busy');
    const { changes } = await other.holding(LOCK_CHANGES, async () => {
      const asked = Array.from({ length: MANY - 1 }, () => create('busy'));
      await other.waiting(2);
      await create('quiet');
      await deliver();
      expect(await other.waitingNow()).toBe(2);
      return { changes: Promise.all(asked) };
    });
    expect(await changes).toHaveLength(MANY - 1);
  });

  it('has a read or change of a destination rejected soon if earlier ones stay unanswered', async () => {
    const turns = new ConnectionTurns(1, 100);
    let answer: () => void = () => undefined;
    const earlier = turns.run('busy', () => new Promise<void>((resolve) => (answer = resolve)));
    const later = turns.run('quiet', () => Promise.reject(new Error('It is not made.')));
    await expect(later).rejects.toMatchObject({ code: 'QUEUE_CONNECTION_SILENT' });
    answer();
    await earlier;
    expect(await turns.run('quiet', () => Promise.resolve('made'))).toBe('made');
  });

  it('still takes and hands out jobs, however many destinations have a `rateLimit`', async () => {
    const receiver = await stage.receiver();
    const limited = Array.from({ length: MANY }, (_, n) =>
      webhooksTo(receiver, { id: `limited-${n}`, rateLimit: 10 }),
    );
    const app = await stage.app({
      connection,
      flushAt: 1,
      webhooks: [...limited, webhooksTo(receiver, { id: 'other' })],
    });
    app.analytics.track({ userId: 'u1', event: 'Before' });
    await receiver.received(MANY + 1);
    await other.holding(LOCK_RATE_LIMITS, async () => {
      app.analytics.track({ userId: 'u1', event: 'Limited', integrations: { other: false } });
      await other.waiting(4);
      app.analytics.track({ userId: 'u1', event: 'Meanwhile', integrations: { All: false, other: true } });
      await receiver.received(MANY + 2);
      expect(await other.waitingNow()).toBe(4);
    });
    await receiver.received(2 * MANY + 2);
  });

  it('still takes and hands out jobs while the look-up of deleted users holds up many put-back jobs', async () => {
    let status = 200;
    const failing = await stage.receiver({ answer: () => status });
    const receiver = await stage.receiver();
    const app = await stage.app({
      connection,
      flushAt: 1,
      webhooks: [
        ...Array.from({ length: MANY }, (_, n) => webhooksTo(failing, { id: `failing-${n}` })),
        webhooksTo(receiver, { id: 'other' }),
      ],
    });
    app.analytics.delete({ userId: 'gone' });
    await Promise.all([failing.received(MANY), receiver.received(1)]);
    const deletions = await createDeletionStore(app.context.get<QueueBackend>(QUEUE_BACKEND).storage);
    await until(async () => ((await deletions.find([userKey('gone')])).size === 1 ? true : undefined));
    await until(async () => ((await deletions.pending(1)).length === 0 ? true : undefined));
    await other.holding(LOCK_DELETIONS, async () => {
      status = 503;
      app.analytics.track({ userId: 'u1', event: 'Failing', integrations: { other: false } });
      await failing.received(2 * MANY);
      await other.waiting(1);
      app.analytics.track({ userId: 'u1', event: 'Meanwhile', integrations: { All: false, other: true } });
      await receiver.received(2);
      // Two look-ups of deleted users, and the search for unfinished deletions.
      expect(await other.waitingNow()).toBeLessThanOrEqual(3);
    });
    await until(async () => ((await app.queue.getDelayedCount()) === MANY ? true : undefined));
  });

  it('has further look-ups of deleted users rejected soon while earlier look-ups are unanswered', async () => {
    const store = new PostgresDeletionStore(await openPool(), 100);
    await store.add([{ key: 'gone', at: 1_000, task: 'of web' }]);
    const { found } = await other.holding(LOCK_DELETIONS, async () => {
      const asked: Promise<Map<string, number>>[] = [];
      for (let n = 1; n <= 2; n++) {
        asked.push(store.find(['gone']));
        await other.waiting(n);
      }
      for (let n = 1; n <= 2; n++)
        await expect(store.find(['gone'])).rejects.toMatchObject({ code: 'QUEUE_CONNECTION_SILENT' });
      return { found: Promise.all(asked) };
    });
    for (const one of [...(await found), await store.find(['gone'])]) {
      expect(one).toEqual(new Map([['gone', 1_000]]));
    }
  });

  it('gets one query for all look-ups of deleted users that wait for earlier ones', async () => {
    const pool = await openPool();
    const query = jest.spyOn(pool, 'query');
    const store = await createDeletionStore({ kind: 'postgres', pool });
    const keys = Array.from({ length: MANY }, (_, n) => `user${n}`);
    await store.add(keys.map((key, at) => ({ key, at, task: 'of web' })));
    // The first look-up finds out whether there is a table.
    await store.find(['nobody']);
    query.mockClear();
    const { found } = await other.holding(LOCK_DELETIONS, async () => {
      const asked: Promise<Map<string, number>>[] = [];
      for (const [n, key] of keys.entries()) {
        asked.push(store.find([key, 'nobody']));
        if (n < 2) await other.waiting(n + 1);
      }
      return { found: Promise.all(asked) };
    });
    expect(await found).toEqual(keys.map((key, at) => new Map([[key, at]])));
    expect(query).toHaveBeenCalledTimes(3);
  });

  it('lets a tenant read the history before another tenant has read much of it', async () => {
    const { destinations, deliveries } = await startWithHistory({ destinations: DESTINATIONS });
    const busy = await destinations.create({ tenant: 'busy', urls: URLS });
    const quiet = await destinations.create({ tenant: 'quiet', urls: URLS });
    const read: string[] = [];
    const readBy = async (tenant: string, destination: string): Promise<void> => {
      await deliveries.recent({ destination, tenant });
      read.push(tenant);
    };
    await readBy('quiet', quiet.id);
    read.length = 0;
    const { reads } = await other.holding(LOCK_HISTORY, async () => {
      const asked = Array.from({ length: MANY }, () => readBy('busy', busy.id));
      await other.waiting(2);
      asked.push(readBy('quiet', quiet.id));
      // By then, the owner of the destination has been looked up, and the read waits for its turn.
      await destinations.get(quiet.id);
      await destinations.get(quiet.id);
      return { reads: Promise.all(asked) };
    });
    await reads;
    expect(read.indexOf('quiet')).toBeLessThan(MANY / 2);
  });

  it('is reported by a health check if it answers with errors', async () => {
    const app = await stage.app({ connection, webhooks: webhooksTo(await stage.receiver()), worker: false });
    const health = app.context.get(AnalyticsHealthIndicator);
    expect((await health.isHealthy('analytics', { timeout: 10_000 })).analytics.status).toBe('up');
    await other.query('ALTER TABLE nestjs_analytics.backlog RENAME COLUMN messages TO renamed');
    const { analytics } = await health.isHealthy('analytics', { timeout: 10_000 });
    expect(analytics.reasons).toEqual([
      'The queue does not report its waiting messages: it returned an error.',
    ]);
  });

  it('gets at most two queries at a time, however often metrics are collected', async () => {
    const { reader } = await startMeasured();
    await reader.collect();
    await whileJobsAreLocked(async () => {
      await Promise.all(Array.from({ length: MANY }, () => reader.collect()));
      expect(await other.waitingNow()).toBeLessThanOrEqual(2);
    });
  });

  it('is not asked to count again soon after a slow count, while the last counts are still exported', async () => {
    const { reader } = await startMeasured();
    const statesTold = async (): Promise<unknown[]> => {
      const jobs = await collected(reader, 'nestjs_analytics.queue.jobs');
      return jobs.map(({ attributes }) => attributes.state);
    };
    await whileJobsAreLocked(() => reader.collect());
    const counted = ['waiting', 'active', 'delayed'];
    await until(async () => ((await statesTold()).includes('failed') ? true : undefined));
    await whileJobsAreLocked(async () => {
      expect(await statesTold()).toEqual(expect.arrayContaining(counted));
      // Failed jobs are counted separately, and that count was quick.
      expect(await other.waitingNow()).toBeLessThanOrEqual(1);
    });
  });

  it('is not asked to count again soon after it has cancelled a count', async () => {
    const database = new URL(connection).pathname.slice(1);
    await other.query(`ALTER DATABASE "${database}" SET lock_timeout = '500ms'`);
    const { app, reader } = await startMeasured();
    /** Resolves to the times at which the current sessions last began to count jobs. */
    const countsBegun = async (): Promise<number[]> => {
      await other.query('SELECT pg_stat_clear_snapshot()');
      const rows = await other.query<{ begun: Date }>(`SELECT query_start AS begun FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE '%count(*) FROM job%' AND pid <> pg_backend_pid()`);
      return rows.map(({ begun }) => begun.getTime());
    };
    await whileJobsAreLocked(async () => {
      await reader.collect();
      await app.log.line(/did not answer a statement of the metrics/);
      const begun = await countsBegun();
      await reader.collect();
      expect(begun).toEqual(expect.arrayContaining(await countsBegun()));
    });
  });

  it('lets the age of the oldest job grow while it is not asked', async () => {
    const { app, reader } = await startMeasured();
    app.analytics.track({ userId: 'u1', event: 'Waiting' });
    await app.analytics.flush();
    const ageTold = async (): Promise<number | undefined> => {
      const [oldest] = await collected(reader, 'nestjs_analytics.queue.oldest');
      return typeof oldest?.value === 'number' ? oldest.value : undefined;
    };
    await whileJobsAreLocked(ageTold);
    const before = await until(ageTold);
    expect(before).toBeGreaterThan(0);
    await whileJobsAreLocked(() =>
      until(async () => (Number(await ageTold()) > before + PERIOD ? true : undefined)),
    );
  });
});

/** Resolves to the current points of a metric. */
async function collected(
  reader: PeriodicExportingMetricReader,
  name: string,
): Promise<MetricData['dataPoints']> {
  const { resourceMetrics } = await reader.collect();
  const all = resourceMetrics.scopeMetrics.flatMap(({ metrics: found }) => found);
  return all.find(({ descriptor }) => descriptor.name === name)?.dataPoints ?? [];
}

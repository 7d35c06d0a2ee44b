import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import pg from 'pg';
import { AnalyticsHealthIndicator, DestinationsService } from '../../../src/index.js';
import type { AnalyticsApp } from '../../support/analytics-app.js';
import { describeWith } from '../../support/describe-backend.js';
import { PostgresServer } from '../../support/postgres-server.js';
import type { Receiver } from '../../support/receiver.js';
import { Stage, webhooksTo } from '../../support/stage.js';
import { until } from '../../support/until.js';

const ACME = { tenant: 'acme', urls: ['https://hooks.example.com/acme'] };
const ALL_TABLES = `
  SELECT string_agg(format('%I.%I', schemaname, tablename), ', ') AS names FROM pg_tables
  WHERE schemaname IN ('bullmq', 'nestjs_analytics')`;

describeWith('postgres', PostgresServer.installed, 'a start on a PostgreSQL in use', () => {
  const stage = new Stage();
  let server: PostgresServer;
  let connection: string;
  let receiver: Receiver;
  /** A session of somebody else. */
  let other: pg.Client;

  beforeAll(async () => {
    server = await PostgresServer.create();
  });
  beforeEach(async () => {
    connection = await server.createDatabase();
    other = new pg.Client({ connectionString: connection });
    // It ends with the server.
    other.on('error', () => undefined);
    await other.connect();
    receiver = await stage.receiver();
  });
  afterAll(() => server.dispose());

  function start(): Promise<AnalyticsApp> {
    return stage.app({
      connection,
      destinations: { encryptionKey: false },
      webhooks: webhooksTo(receiver, { rateLimit: 100 }),
      shutdownTimeout: 2_000,
    });
  }

  async function track(app: AnalyticsApp): Promise<void> {
    const before = receiver.requests.length;
    app.analytics.track({ userId: 'u1', event: 'Tracked' });
    await receiver.received(before + 1);
    await app.context.get(DestinationsService).create(ACME);
  }

  it('queues and delivers while a dump reads all of its tables', async () => {
    await track(await start());
    const { rows } = await other.query<{ names: string }>(ALL_TABLES);
    await other.query(
      `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; LOCK TABLE ${rows[0]?.names} IN ACCESS SHARE MODE`,
    );
    try {
      const app = await start();
      await track(app);
      expect(app.analytics.status().queue).toBe('up');
      expect(app.log.analytics).toEqual([]);
    } finally {
      await other.query('COMMIT');
    }
  });

  it('does not say that its queue is up while another process changes the tables, but when it was reached', async () => {
    await track(await start());
    await other.query('BEGIN; LOCK TABLE bullmq.migration IN ACCESS EXCLUSIVE MODE');
    const app = await start();
    try {
      const { analytics } = await app.context.get(AnalyticsHealthIndicator).isHealthy('analytics');
      expect(analytics).toMatchObject({
        status: 'down',
        queue: 'down',
        reasons: ['The queue cannot be reached or does not answer.'],
      });
    } finally {
      await other.query('COMMIT');
    }
    await until(() => (app.analytics.status().queue === 'up' ? true : undefined));
    await track(app);
    expect(app.log.analytics).toEqual([]);
  });

  it('is told that its server is read-only, although all tables are there', async () => {
    await track(await start());
    const database = new URL(connection).pathname.slice(1);
    await other.query(`ALTER DATABASE ${database} SET default_transaction_read_only = on`);
    const app = await start();
    await app.log.line(/takes no more jobs \(it is read-only.*25006\)/);
    expect(app.analytics.status().queue).toBe('refusing');
    await other.query(`ALTER DATABASE ${database} RESET default_transaction_read_only`);
    await until(() => (app.analytics.status().queue === 'up' ? true : undefined));
  });
});

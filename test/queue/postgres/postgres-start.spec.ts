import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { AnalyticsHealthIndicator, DestinationsService } from '../../../src/index.js';
import type { AnalyticsApp } from '../../support/analytics-app.js';
import { describeWith } from '../../support/describe-backend.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { PostgresSession } from '../../support/postgres-session.js';
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
  let other: PostgresSession;

  beforeAll(async () => {
    server = await PostgresServer.create();
  });
  beforeEach(async () => {
    connection = await server.createDatabase();
    other = await stage.add(PostgresSession.open(connection));
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
    const [all] = await other.query<{ names: string }>(ALL_TABLES);
    const reading = `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY`;
    await other.holding(`${reading}; LOCK TABLE ${all?.names} IN ACCESS SHARE MODE`, async () => {
      const app = await start();
      await track(app);
      expect(app.analytics.status().queue).toBe('up');
      expect(app.log.analytics).toEqual([]);
    });
  });

  it('reports its queue as down while another process changes the tables, and as up afterwards', async () => {
    await track(await start());
    const app = await other.holding('LOCK TABLE bullmq.migration IN ACCESS EXCLUSIVE MODE', async () => {
      const waits = await start();
      const { analytics } = await waits.context.get(AnalyticsHealthIndicator).isHealthy('analytics');
      expect(analytics).toMatchObject({
        status: 'down',
        queue: 'down',
        reasons: ['The queue cannot be reached or does not answer.'],
      });
      return waits;
    });
    await until(() => (app.analytics.status().queue === 'up' ? true : undefined));
    await track(app);
    expect(app.log.analytics).toEqual([]);
  });

  it('logs that its server is read-only, although all tables exist', async () => {
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

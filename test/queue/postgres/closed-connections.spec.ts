import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import pg from 'pg';
import type { AnalyticsApp } from '../../support/analytics-app.js';
import { describeWith } from '../../support/describe-backend.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { PostgresSession } from '../../support/postgres-session.js';
import { Stage } from '../../support/stage.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { until } from '../../support/until.js';

const OTHERS = `
  SELECT pid FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`;

describeWith('postgres', PostgresServer.installed, 'a process that only produces, on PostgreSQL', () => {
  const stage = new Stage();
  let server: PostgresServer;
  let url: string;
  let other: PostgresSession;

  beforeAll(async () => {
    server = await PostgresServer.create();
  });
  beforeEach(async () => {
    await server.start();
    url = await server.createDatabase();
    other = await stage.add(PostgresSession.open(url));
  });
  afterAll(() => server.dispose());

  /** Starts an application that keeps its connections open while nothing is tracked. */
  async function startOn(connectionString: string): Promise<AnalyticsApp> {
    const connection = new pg.Pool({ connectionString, idleTimeoutMillis: 0 });
    const webhooks = { urls: ['https://hooks.example.com/'] };
    const app = await stage.app({ connection, webhooks, worker: false, shutdownTimeout: 2_000 });
    await track(app);
    return app;
  }

  async function track(app: AnalyticsApp): Promise<void> {
    app.analytics.track({ userId: 'u1', event: 'Tracked' });
    expect(await app.analytics.flush()).toEqual({ queued: 1, refused: 0, pending: 0 });
  }

  it('logs no outage when a proxy closes its idle connections', async () => {
    const proxy = await stage.add(TcpProxy.start(server));
    const app = await startOn(proxy.through(url));
    proxy.reset();
    await track(app);
    expect(app.log.analytics).toEqual([]);
  });

  it('logs no outage when the server ends its idle sessions', async () => {
    const [database] = await other.query<{ name: string }>('SELECT current_database() AS name');
    await other.query(`ALTER DATABASE "${database?.name ?? ''}" SET idle_session_timeout = '200ms'`);
    const app = await startOn(url);
    await until(async () => ((await other.query(OTHERS)).length === 0 ? true : undefined));
    await track(app);
    expect(app.log.analytics).toEqual([]);
  });

  it('logs that the server is away, and that it is back even if nothing is tracked', async () => {
    const app = await startOn(url);
    await server.stop();
    await app.log.line(/cannot be reached/);
    await server.start();
    await app.log.line(/is back after/);
    expect(app.log.analytics).toHaveLength(2);
  });
});

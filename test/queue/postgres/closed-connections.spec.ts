import { afterAll, afterEach, beforeAll, beforeEach, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { AudiencesService, DeliveriesService } from '../../../src/index.js';
import { QUEUE_BACKEND, type QueueBackend } from '../../../src/queue/queue-backend.js';
import type { AnalyticsApp } from '../../support/analytics-app.js';
import { describeWith } from '../../support/describe-backend.js';
import { freePort } from '../../support/free-port.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { PostgresSession } from '../../support/postgres-session.js';
import { Stage, webhooksTo } from '../../support/stage.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { until } from '../../support/until.js';

const OTHERS = `
  SELECT pid FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`;

/** What comes back for a statement that the server has carried out, none of which is passed on. */
const NOTHING = /^/;
/** Matches nothing of an answer, once it says that rows were written. */
const BEFORE_ROWS = /^(?=[^]*INSERT 0 [12]\0)/;

describeWith('postgres', PostgresServer.installed, 'a process that delivers, on PostgreSQL', () => {
  const stage = new Stage();
  let server: PostgresServer;

  beforeAll(async () => {
    server = await PostgresServer.create();
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });
  afterAll(() => server.dispose());

  it('logs nothing when it records a delivery a second time because the first answer was lost', async () => {
    const proxy = await stage.add(TcpProxy.start(server));
    const receiver = await stage.receiver();
    const app = await stage.app({
      connection: proxy.through(await server.createDatabase()),
      webhooks: webhooksTo(receiver),
    });
    const report = jest.spyOn(app.context.get<QueueBackend>(QUEUE_BACKEND).health, 'report');
    const broken = proxy.breakWithin(/\bmove_to_completed/, NOTHING);
    app.analytics.track({ userId: 'u1', event: 'Delivered' });
    await broken;
    await until(() => report.mock.calls.find(([{ message }]) => message.includes('not in the active state')));
    await app.settled();
    expect(receiver.requests).toHaveLength(1);
    expect(app.log.analytics).toEqual([]);
  });

  it('records each attempt of a message once, although an outage kept the answer back', async () => {
    const url = await server.createDatabase();
    const [proxy, away] = [await stage.add(TcpProxy.start(server)), { port: await freePort() }];
    const webhooks = webhooksTo(await stage.receiver({ answer: [404] }));
    const app = await stage.app({ connection: proxy.through(url), webhooks, flushAt: 1 });
    const broken = proxy.breakWithin(/INSERT INTO nestjs_analytics\.delivery_entry/, BEFORE_ROWS);
    app.analytics.track({ userId: 'u1', event: 'Refused' });
    await broken;
    proxy.turnTo(away);
    proxy.reset();
    await app.log.line(/cannot be reached/);
    proxy.turnTo(server);
    await app.log.line(/is back after/);
    await app.close();
    const deliveries = (await stage.app({ connection: url, webhooks })).context.get(DeliveriesService);
    const [recent] = await deliveries.recent({ destination: 'webhooks' });
    expect(recent?.attempts).toHaveLength(1);
    const [hours, minutes] = [await deliveries.totals(), await deliveries.totalsByMinute()];
    for (const totals of [hours, minutes]) {
      expect(totals.reduce((sum, { failed }) => sum + failed, 0)).toBe(1);
    }
  });

  it('takes the lock of an audience, although it holds the lock already', async () => {
    const proxy = await stage.add(TcpProxy.start(server));
    const app = await stage.app({
      connection: proxy.through(await server.createDatabase()),
      webhooks: webhooksTo(await stage.receiver()),
    });
    const audiences = app.context.get(AudiencesService);
    const broken = proxy.breakWithin(/INSERT INTO nestjs_analytics\.audience_lock/, BEFORE_ROWS);
    expect(await audiences.add('VIP', 'u1', { wait: 0 })).toBe(true);
    await broken;
  });
});

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

import { afterAll, afterEach, beforeAll, beforeEach, expect, it, jest } from '@jest/globals';
import { metrics } from '@opentelemetry/api';
import { DeliveriesService } from '../../../src/index.js';
import { describeWith } from '../../support/describe-backend.js';
import { newMetricReader } from '../../support/metric-reader.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { PostgresSession } from '../../support/postgres-session.js';
import { Stage, webhooksTo } from '../../support/stage.js';
import { until } from '../../support/until.js';

describeWith('postgres', PostgresServer.installed, 'statements beside the queue that PostgreSQL ends', () => {
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
    await other.query(`ALTER DATABASE "${new URL(connection).pathname.slice(1)}" SET lock_timeout = '300ms'`);
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });
  afterAll(async () => {
    metrics.disable();
    await server.dispose();
  });

  it('are logged once, and do not keep jobs from the queue, if they belong to the history', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({ connection, flushAt: 1, webhooks: webhooksTo(receiver) });
    const deliveries = app.context.get(DeliveriesService);
    app.analytics.track({ userId: 'u1', event: 'Before' });
    await until(async () => (await deliveries.recent({ destination: 'webhooks' })).at(0));
    // Like a `REINDEX`.
    await other.holding('LOCK TABLE nestjs_analytics.delivery_entry IN ACCESS EXCLUSIVE MODE', async () => {
      await expect(deliveries.recent({ destination: 'webhooks' })).rejects.toThrow();
      app.analytics.track({ userId: 'u1', event: 'Meanwhile' });
      await receiver.received(2);
      expect(await app.log.line(/55P03/)).toMatch(
        /did not answer a statement of the history of deliveries \(it did not get a lock in time: .*55P03\)/,
      );
      expect(app.analytics.status().queue).toBe('up');
      app.analytics.track({ userId: 'u1', event: 'Later' });
      await receiver.received(3);
    });
    await until(async () => (await deliveries.recent({ destination: 'webhooks' })).at(2));
    expect(app.log.analytics).toHaveLength(1);
    const now = performance.now.bind(performance);
    // Some minutes later.
    jest.spyOn(performance, 'now').mockImplementation(() => now() + 300_000);
    await deliveries.recent({ destination: 'webhooks' });
    await app.log.line(/answers statements of the history of deliveries again/);
    expect(app.log.analytics).toHaveLength(2);
  });

  it('are logged once, and do not keep jobs from the queue, if they count jobs for metrics', async () => {
    const reader = newMetricReader();
    const webhooks = { urls: ['https://hooks.example.com/'] };
    const app = await stage.app({ connection, webhooks, worker: false });
    await other.holding('LOCK TABLE bullmq.job IN ACCESS EXCLUSIVE MODE', async () => {
      await reader.collect();
      expect(await app.log.line(/55P03/)).toMatch(
        /did not answer a statement of the metrics \(it did not get a lock in time: .*55P03\)/,
      );
      expect(app.analytics.status().queue).toBe('up');
    });
    app.analytics.track({ userId: 'u1', event: 'Afterwards' });
    expect(await app.analytics.flush()).toEqual({ queued: 1, refused: 0, pending: 0 });
    expect(app.log.analytics.filter((line) => line.includes('takes no more jobs'))).toEqual([]);
  });
});

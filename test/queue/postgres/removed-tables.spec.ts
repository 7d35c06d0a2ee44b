import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { AnalyticsApp } from '../../support/analytics-app.js';
import { describeWith } from '../../support/describe-backend.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { PostgresSession } from '../../support/postgres-session.js';
import { eventsIn } from '../../support/received-message.js';
import type { Receiver } from '../../support/receiver.js';
import { Stage, webhooksTo } from '../../support/stage.js';

describeWith('postgres', PostgresServer.installed, 'tables that somebody removes', () => {
  const stage = new Stage();
  let server: PostgresServer;
  let connection: string;
  let other: PostgresSession;
  let receiver: Receiver;

  beforeAll(async () => {
    server = await PostgresServer.create();
  });
  beforeEach(async () => {
    connection = await server.createDatabase();
    other = await stage.add(PostgresSession.open(connection));
    receiver = await stage.receiver();
  });
  afterAll(() => server.dispose());

  async function startDelivering(): Promise<AnalyticsApp> {
    const app = await stage.app({ connection, flushAt: 1, webhooks: webhooksTo(receiver) });
    app.analytics.track({ userId: 'u1', event: 'Before' });
    await receiver.received(1);
    await app.settled();
    return app;
  }

  it('are made again where all those of the queue are gone, and what was kept in memory is delivered', async () => {
    const app = await startDelivering();
    await other.query('DROP SCHEMA bullmq CASCADE');
    app.analytics.track({ userId: 'u1', event: 'Meanwhile' });
    expect(await app.log.line(/takes no more jobs/)).toMatch(
      /tables or functions of the schema `bullmq` are missing: .* (42P01|42883)\)\. Calls are kept in memory/,
    );
    await app.log.line(/is back after/);
    await receiver.received(2);
    app.analytics.track({ userId: 'u1', event: 'After' });
    await receiver.received(3);
    expect(eventsIn(receiver.requests)).toEqual(['After', 'Before', 'Meanwhile']);
    expect(app.analytics.status()).toMatchObject({ queue: 'up', buffered: { messages: 0 } });
  });

  it('are made again by a process without a worker', async () => {
    const delivering = await startDelivering();
    await delivering.close();
    const app = await stage.app({ connection, worker: false, webhooks: webhooksTo(receiver) });
    await other.query('DROP SCHEMA bullmq CASCADE');
    app.analytics.track({ userId: 'u1', event: 'Meanwhile' });
    expect(await app.analytics.flush()).toEqual({ queued: 1, refused: 0, pending: 0 });
  });

  it('keep calls in memory until they are restored, where only one of the queue is gone', async () => {
    const app = await startDelivering();
    await other.query('ALTER TABLE bullmq.event RENAME TO event_before');
    app.analytics.track({ userId: 'u1', event: 'Meanwhile' });
    await app.log.line(/the schema `bullmq` are missing: .*otherwise restore it/);
    await other.query('ALTER TABLE bullmq.event_before RENAME TO event');
    await receiver.received(2);
    expect(await app.analytics.flush()).toMatchObject({ pending: 0 });
  });
});

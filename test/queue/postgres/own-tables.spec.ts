import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { AudiencesService, DeliveriesService, DestinationsService } from '../../../src/index.js';
import type { AnalyticsApp } from '../../support/analytics-app.js';
import { describeWith } from '../../support/describe-backend.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { PostgresSession } from '../../support/postgres-session.js';
import { Stage, webhooksTo } from '../../support/stage.js';

const TABLE_NAMES = `
  SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname = 'nestjs_analytics'`;

describeWith('postgres', PostgresServer.installed, 'tables beside those of the queue', () => {
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
  afterAll(() => server.dispose());

  function start(): Promise<AnalyticsApp> {
    return stage.app({ connection, destinations: {}, shutdownTimeout: 1_000 });
  }

  async function use({ context }: AnalyticsApp): Promise<void> {
    await context.get(DestinationsService).list();
    await context.get(DeliveriesService).totals();
    await context.get(AudiencesService).list();
  }

  it('are not locked by a process that finds them existing', async () => {
    const receiver = await stage.receiver();
    const first = await stage.app({ connection, destinations: {}, webhooks: webhooksTo(receiver) });
    first.analytics.track({ userId: 'u1', event: 'Ordered' });
    await first.analytics.flush();
    await receiver.received(1);
    await use(first);
    first.analytics.delete({ userId: 'u1' });
    // Closing stores the history, too.
    await first.close();
    const tables = await other.query<{ name: string }>(TABLE_NAMES);
    const names = tables.map(({ name }) => name.replace('nestjs_analytics.', ''));
    expect(names).toEqual(expect.arrayContaining(['audience', 'deletion', 'delivery_hour', 'destination']));
    // Like a transaction that has written to the tables: such a lock keeps nobody from reading and writing.
    const all = tables.map(({ name }) => name).join(', ');
    await other.holding(`LOCK TABLE ${all} IN ROW EXCLUSIVE MODE`, async () => use(await start()));
  });

  it('do not block the use of other tables while one is changed', async () => {
    await use(await start());
    // As an older version created the table.
    await other.query('ALTER TABLE nestjs_analytics.audience DROP COLUMN source');
    const apps = [await start(), await start()] as const;
    const { listed } = await other.holding('SELECT 1 FROM nestjs_analytics.audience', async () => {
      const waits = apps[0].context.get(AudiencesService).list();
      await other.waiting(1);
      expect(await apps[1].context.get(DestinationsService).list()).toEqual({ destinations: [] });
      return { listed: waits };
    });
    expect(await listed).toEqual([]);
  });
});

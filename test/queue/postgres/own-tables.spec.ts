import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import pg from 'pg';
import { AudiencesService, DeliveriesService, DestinationsService } from '../../../src/index.js';
import type { AnalyticsApp } from '../../support/analytics-app.js';
import { describeWith } from '../../support/describe-backend.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { Stage, webhooksTo } from '../../support/stage.js';
import { until } from '../../support/until.js';

const TABLE_NAMES = `
  SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname = 'nestjs_analytics'`;
const WAITING = `SELECT 1 FROM pg_locks WHERE NOT granted`;

describeWith('postgres', PostgresServer.installed, 'tables beside those of the queue', () => {
  const stage = new Stage();
  let server: PostgresServer;
  let connection: string;
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

  it('are not locked by a process that finds them there', async () => {
    const receiver = await stage.receiver();
    const first = await stage.app({ connection, destinations: {}, webhooks: webhooksTo(receiver) });
    first.analytics.track({ userId: 'u1', event: 'Ordered' });
    await first.analytics.flush();
    await receiver.received(1);
    await use(first);
    first.analytics.delete({ userId: 'u1' });
    // It stores the history, too.
    await first.close();
    const { rows } = await other.query<{ name: string }>(TABLE_NAMES);
    const names = rows.map(({ name }) => name.replace('nestjs_analytics.', ''));
    expect(names).toEqual(expect.arrayContaining(['audience', 'deletion', 'delivery_hour', 'destination']));
    // As whoever has written to them and not committed yet: that keeps nobody from reading and writing.
    await other.query(`BEGIN; LOCK TABLE ${rows.map(({ name }) => name).join(', ')} IN ROW EXCLUSIVE MODE`);
    try {
      await use(await start());
    } finally {
      await other.query('COMMIT');
    }
  });

  it('keep nobody waiting who uses the others while one is changed', async () => {
    await use(await start());
    // As an older version has made it.
    await other.query('ALTER TABLE nestjs_analytics.audience DROP COLUMN source');
    await other.query('BEGIN; SELECT 1 FROM nestjs_analytics.audience');
    const apps = [await start(), await start()] as const;
    const listed = apps[0].context.get(AudiencesService).list();
    try {
      await until(async () => ((await other.query(WAITING)).rows.length > 0 ? true : undefined));
      expect(await apps[1].context.get(DestinationsService).list()).toEqual({ destinations: [] });
    } finally {
      await other.query('COMMIT');
    }
    expect(await listed).toEqual([]);
  });
});

import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import {
  AnalyticsHealthIndicator,
  AudiencesService,
  DeliveriesService,
  DestinationsService,
} from '../../../src/index.js';
import type { AnalyticsApp } from '../../support/analytics-app.js';
import { describeWith } from '../../support/describe-backend.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { PostgresSession } from '../../support/postgres-session.js';
import { eventsIn } from '../../support/received-message.js';
import type { Receiver } from '../../support/receiver.js';
import { Stage, webhooksTo } from '../../support/stage.js';
import { until } from '../../support/until.js';

const DESTINATIONS = { encryptionKey: false, allowPrivateNetwork: true } as const;

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

  it('are created again if all tables of the queue are gone, and calls kept in memory are delivered', async () => {
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

  it('are created again by a process without a worker', async () => {
    const delivering = await startDelivering();
    await delivering.close();
    const app = await stage.app({ connection, worker: false, webhooks: webhooksTo(receiver) });
    await other.query('DROP SCHEMA bullmq CASCADE');
    app.analytics.track({ userId: 'u1', event: 'Meanwhile' });
    expect(await app.analytics.flush()).toEqual({ queued: 1, refused: 0, pending: 0 });
  });

  it('keep calls in memory until the restore if only one table of the queue is gone', async () => {
    const app = await startDelivering();
    await other.query('ALTER TABLE bullmq.event RENAME TO event_before');
    app.analytics.track({ userId: 'u1', event: 'Meanwhile' });
    await app.log.line(/the schema `bullmq` are missing: .*otherwise restore it/);
    await other.query('ALTER TABLE bullmq.event_before RENAME TO event');
    await receiver.received(2);
    expect(await app.analytics.flush()).toMatchObject({ pending: 0 });
  });

  /** Renames one of the package's own tables while some work is done, as if it were removed and restored. */
  async function without(table: string, work: () => Promise<unknown>): Promise<void> {
    await other.query(`ALTER TABLE nestjs_analytics.${table} RENAME TO before`);
    await work();
    await other.query(`ALTER TABLE nestjs_analytics.before RENAME TO ${table}`);
  }

  function linesAbout(table: string, app: AnalyticsApp): string[] {
    return app.log.analytics.filter((line) => line.includes(`: The table \`nestjs_analytics.${table}\``));
  }

  /** Uses most tables beside those of the queue. Some of the calls may fail. */
  async function use({ context, analytics }: AnalyticsApp, id: string): Promise<void> {
    analytics.tenant('acme').track({ userId: 'u1', event: 'Used' });
    analytics.delete({ userId: 'gone' });
    await Promise.allSettled([
      context.get(DestinationsService).update(id, { description: 'Used' }),
      context.get(AudiencesService).sync('VIP', ['u1']),
      context.get(DeliveriesService).totals(),
      context.get(AnalyticsHealthIndicator).isHealthy('analytics'),
    ]);
  }

  it.each([
    'destination',
    'destination_change',
    'deletion',
    'delivery_entry',
    'delivery_hour',
    'audience',
    'audience_member',
    'audience_lock',
  ])(
    'are reported once when the table %s is missing and once when it is back, and no message is lost',
    async (table) => {
      const customer = await stage.receiver();
      const options = { connection, flushAt: 1, destinations: DESTINATIONS, webhooks: webhooksTo(receiver) };
      const app = await stage.app(options);
      const { id } = await app.context
        .get(DestinationsService)
        .create({ tenant: 'acme', urls: [customer.url()], types: ['identify'] });
      await use(app, id);
      await until(async () => {
        const [row] = await other.query<{ isThere: boolean }>(
          `SELECT to_regclass('nestjs_analytics.${table}') IS NOT NULL AS "isThere"`,
        );
        return row?.isThere === true ? true : undefined;
      });
      await without(table, async () => {
        await until(
          async () => {
            await use(app, id);
            return linesAbout(table, app).length > 0 ? true : undefined;
          },
          200,
          200,
        );
        expect(linesAbout(table, app)[0]).toMatch(
          /is missing \(42P01\): restore it from a backup in one transaction/,
        );
        expect(app.analytics.status()).toMatchObject({
          queue: 'up',
          missingTables: [`nestjs_analytics.${table}`],
        });
        const missing = `The table \`nestjs_analytics.${table}\` is missing.`;
        // Without the history, every message arrives.
        const health = table.startsWith('delivery_')
          ? { status: 'up' }
          : { status: 'down', reasons: expect.arrayContaining([missing]) };
        expect(await app.context.get(AnalyticsHealthIndicator).isHealthy('analytics')).toMatchObject({
          analytics: health,
        });
        app.analytics.tenant('acme').identify({ userId: 'u1' });
        app.analytics.track({ userId: 'u1', event: 'Without a tenant' });
        await until(() => eventsIn(receiver.requests).includes('Without a tenant') || undefined);
      });
      await until(
        async () => {
          await use(app, id);
          return app.analytics.status().missingTables === undefined || undefined;
        },
        200,
        200,
      );
      await customer.received(1);
      await app.log.line(/is there again/);
      expect(linesAbout(table, app)).toEqual([
        expect.stringContaining('is missing'),
        expect.stringContaining('is there again'),
      ]);
    },
  );

  it('keep messages for a destination with a `rateLimit` in the queue if the table of rate limits is missing', async () => {
    const webhooks = webhooksTo(receiver, { rateLimit: 100 });
    const app = await stage.app({ connection, flushAt: 1, webhooks });
    app.analytics.track({ userId: 'u1', event: 'Before' });
    await receiver.received(1);
    await without('rate_limit', async () => {
      for (const n of [1, 2, 3]) app.analytics.track({ userId: 'u1', event: `Meanwhile ${n}` });
      await app.log.line(/the table `nestjs_analytics.rate_limit` .* is missing \(42P01\)/i);
    });
    await receiver.received(4);
    await app.log.line(/is there again/);
    expect(linesAbout('rate_limit', app)).toHaveLength(2);
  });

  it('do not hide other problems in a health check', async () => {
    const app = await stage.app({ connection, flushAt: 1, destinations: DESTINATIONS });
    const { id } = await app.context.get(DestinationsService).create({ urls: [receiver.url()] });
    await use(app, id);
    await without('destination_change', async () => {
      await use(app, id);
      await until(() => app.analytics.status().missingTables?.length === 1 || undefined);
      await other.query('ALTER TABLE nestjs_analytics.backlog RENAME messages TO others');
      expect(await app.context.get(AnalyticsHealthIndicator).isHealthy('analytics')).toMatchObject({
        analytics: {
          reasons: [
            'The queue does not report its waiting messages: it returned an error.',
            'The table `nestjs_analytics.destination_change` is missing.',
          ],
        },
      });
      await other.query('ALTER TABLE nestjs_analytics.backlog RENAME others TO messages');
    });
  });

  function tablesIn(line: string): string[] {
    return line.match(/nestjs_analytics\.\w+/g) ?? [];
  }

  it('are reported together, and are found when they are back even if nothing uses them', async () => {
    const app = await stage.app({ connection, flushAt: 1, destinations: DESTINATIONS });
    const { id } = await app.context.get(DestinationsService).create({ urls: [receiver.url()] });
    await use(app, id);
    const tables = ['destination', 'deletion', 'audience'];
    for (const table of tables)
      await other.query(`ALTER TABLE nestjs_analytics.${table} RENAME TO ${table}_before`);
    await use(app, id);
    const begin = await app.log.line(/The tables .* are missing/);
    for (const table of tables)
      await other.query(`ALTER TABLE nestjs_analytics.${table}_before RENAME TO ${table}`);
    await until(() => app.analytics.status().missingTables === undefined || undefined);
    // A table that a statement uses is found before a table that only the look finds.
    const back = (): string[] =>
      app.log.analytics.filter((line) => line.includes('there again')).flatMap(tablesIn);
    await until(() => back().length >= tables.length || undefined);
    expect(back().sort()).toEqual(tablesIn(begin).sort());
  });

  it('leave no tenant without destinations if the rows come some time after the table', async () => {
    const app = await stage.app({ connection, flushAt: 1, destinations: DESTINATIONS });
    await app.context.get(DestinationsService).create({ tenant: 'acme', urls: [receiver.url()] });
    await other.query('ALTER TABLE nestjs_analytics.destination RENAME TO before');
    app.analytics.tenant('acme').track({ userId: 'u1', event: 'While there is no table' });
    await app.log.line(/`nestjs_analytics.destination` .* is missing/);
    await other.query(
      'CREATE TABLE nestjs_analytics.destination (LIKE nestjs_analytics.before INCLUDING ALL)',
    );
    await until(() => app.analytics.status().missingTables === undefined || undefined);
    expect(await app.analytics.flush()).toMatchObject({ pending: 0 });
    await other.query('INSERT INTO nestjs_analytics.destination SELECT * FROM nestjs_analytics.before');
    await until(() => {
      app.analytics.tenant('acme').track({ userId: 'u1', event: 'After' });
      return receiver.requests.length > 0 || undefined;
    }, 200);
    expect(eventsIn(receiver.requests)).toContain('After');
  });
});

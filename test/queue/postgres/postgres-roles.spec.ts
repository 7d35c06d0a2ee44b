import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import pg from 'pg';
import { AudiencesService, DeliveriesService, DestinationsService } from '../../../src/index.js';
import type { AnalyticsApp, AppOptions } from '../../support/analytics-app.js';
import { describeWith } from '../../support/describe-backend.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { Stage, webhooksTo } from '../../support/stage.js';
import { until } from '../../support/until.js';

const DESTINATIONS = { encryptionKey: false } as const;
const NOWHERE = { urls: ['https://hooks.example.com/events'] };

describeWith('postgres', PostgresServer.installed, 'the role that the queue has on PostgreSQL', () => {
  const stage = new Stage();
  let server: PostgresServer;
  let admin: pg.Pool;
  let url: string;

  beforeAll(async () => {
    server = await PostgresServer.create();
  });
  beforeEach(async () => {
    url = await server.createDatabase();
    admin = new pg.Pool({ connectionString: url });
    // The connections of this pool end with the server.
    admin.on('error', () => undefined);
  });
  afterAll(async () => {
    await admin.end();
    await server.dispose();
  });

  function asRole(role: string): string {
    return url.replace('postgres@', `${role}@`);
  }

  /** Lets a role use the contents of schemas, and create nothing. */
  async function grant(role: string, schemas: string): Promise<void> {
    await admin.query(`GRANT USAGE ON SCHEMA ${schemas} TO ${role};
      GRANT ALL ON ALL TABLES IN SCHEMA ${schemas} TO ${role};
      GRANT ALL ON ALL SEQUENCES IN SCHEMA ${schemas} TO ${role}`);
  }

  /** Resolves to the number of failed statements that the server has counted. */
  async function rollbacks(): Promise<number> {
    const { rows } = await admin.query<{ failed: string }>(
      'SELECT xact_rollback AS failed FROM pg_stat_database WHERE datname = current_database()',
    );
    return Number(rows[0]?.failed);
  }

  /** Starts an application, makes it deliver messages and use what else is stored, and closes it. */
  async function used(options: Omit<AppOptions, 'webhooks'>): Promise<AnalyticsApp> {
    const receiver = await stage.receiver();
    const app = await stage.app({
      ...options,
      destinations: DESTINATIONS,
      webhooks: webhooksTo(receiver, { rateLimit: 100 }),
    });
    app.analytics.track({ userId: 'u1', event: 'Tracked' });
    await receiver.received(1);
    await app.settled();
    const { id } = await app.context.get(DestinationsService).create({ tenant: 'acme', ...NOWHERE });
    await app.context.get(DestinationsService).delete(id);
    await app.context.get(AudiencesService).list();
    await app.context.get(DeliveriesService).totals();
    app.analytics.delete({ userId: 'u1' });
    await receiver.received(2);
    // Closing stores the history, too.
    await app.close();
    return app;
  }

  it('needs to own and to create nothing if everything exists', async () => {
    await used({ connection: url });
    await admin.query('CREATE ROLE application LOGIN');
    await grant('application', 'bullmq, nestjs_analytics');
    const app = await used({ connection: asRole('application') });
    expect(app.log.analytics).toEqual([]);
  });

  it('may be another role for each application with a `prefix`, which owns that application’s schema', async () => {
    await used({ connection: url, prefix: 'shop' });
    await admin.query(
      'CREATE ROLE billing LOGIN; CREATE SCHEMA nestjs_analytics_billing AUTHORIZATION billing',
    );
    await grant('billing', 'bullmq');
    const app = await used({ connection: asRole('billing'), prefix: 'billing' });
    expect(app.log.analytics).toEqual([]);
  });

  it('is reported with the right that it lacks, and works once it has the right', async () => {
    await used({ connection: url });
    await admin.query('CREATE ROLE newcomer LOGIN');
    const receiver = await stage.receiver();
    const app = await stage.app({ connection: asRole('newcomer'), webhooks: webhooksTo(receiver) });
    app.analytics.track({ userId: 'u1', event: 'Kept' });
    expect(await app.log.line(/takes no more jobs/)).toMatch(/not the owner of.*grant USAGE.*42501/);
    expect(app.analytics.status().queue).toBe('refusing');
    await grant('newcomer', 'bullmq, nestjs_analytics');
    await receiver.received(1);
    expect(app.analytics.status().queue).toBe('up');
  });

  it('is reported once when it may no longer use a table, while all else works, and once when it may again', async () => {
    await used({ connection: url });
    await admin.query('CREATE ROLE restricted LOGIN');
    await grant('restricted', 'bullmq, nestjs_analytics');
    const receiver = await stage.receiver();
    const app = await stage.app({ connection: asRole('restricted'), webhooks: webhooksTo(receiver) });
    await admin.query('REVOKE ALL ON nestjs_analytics.delivery_entry FROM restricted');
    app.analytics.track({ userId: 'u1', event: 'Tracked' });
    expect(await app.log.line(/may not use/)).toMatch(
      /PostgreSQL may not use the table `nestjs_analytics.delivery_entry` \(42501\): run `GRANT ALL ON nestjs_analytics.delivery_entry TO <user>`/,
    );
    // The table is tried again and again.
    const before = await rollbacks();
    await until(async () => ((await rollbacks()) > before + 2 ? true : undefined), 100);
    expect(app.analytics.status().queue).toBe('up');
    app.analytics.track({ userId: 'u1', event: 'Tracked meanwhile' });
    await receiver.received(2);
    await admin.query('GRANT ALL ON nestjs_analytics.delivery_entry TO restricted');
    await app.log.line(/may use the table `nestjs_analytics.delivery_entry` again/);
    expect(app.log.analytics.filter((line) => line.includes('The user of the queue'))).toHaveLength(2);
    expect(app.log.analytics.filter((line) => line.includes('takes no more jobs'))).toEqual([]);
  });

  it('is reported when it may use a table again from which only old entries could not be removed', async () => {
    await used({ connection: url });
    await admin.query('CREATE ROLE late LOGIN');
    await grant('late', 'bullmq, nestjs_analytics');
    await admin.query('REVOKE ALL ON nestjs_analytics.delivery_entry FROM late');
    const receiver = await stage.receiver();
    const app = await stage.app({ connection: asRole('late'), webhooks: webhooksTo(receiver) });
    // Nothing is delivered, and so nothing is written.
    await app.log.line(/may not use the table `nestjs_analytics.delivery_entry`/);
    await admin.query('GRANT ALL ON nestjs_analytics.delivery_entry TO late');
    app.analytics.track({ userId: 'u1', event: 'Tracked' });
    await app.log.line(/may use the table `nestjs_analytics.delivery_entry` again/);
  });

  it('counts deliveries once although it may not remove old entries', async () => {
    await used({ connection: url });
    await admin.query('CREATE ROLE keeping LOGIN');
    await grant('keeping', 'bullmq, nestjs_analytics');
    await admin.query('REVOKE DELETE ON nestjs_analytics.delivery_entry FROM keeping');
    const delivered = async (): Promise<number> => {
      const { rows } = await admin.query<{ sum: string }>(
        `SELECT sum((counts ->> 'delivered')::int) AS sum FROM nestjs_analytics.delivery_hour
         WHERE destination = 'webhooks'`,
      );
      return Number(rows[0]?.sum);
    };
    const before = await delivered();
    const receiver = await stage.receiver();
    const app = await stage.app({ connection: asRole('keeping'), webhooks: webhooksTo(receiver) });
    for (const count of [1, 2, 3, 4]) {
      app.analytics.track({ userId: 'u1', event: 'Tracked' });
      await until(async () => ((await delivered()) >= before + count ? true : undefined), 100);
      expect((await delivered()) - before).toBe(count);
    }
    expect(await app.log.line(/may not use/)).toContain('the table `nestjs_analytics.delivery_entry`');
  });

  it('is reported when it may use tables again after their owner has created a missing one', async () => {
    await used({ connection: url });
    await admin.query('CREATE ROLE updated LOGIN');
    await grant('updated', 'bullmq, nestjs_analytics');
    await admin.query('ALTER TABLE nestjs_analytics.delivery_hour RENAME TO missing');
    const receiver = await stage.receiver();
    const app = await stage.app({ connection: asRole('updated'), webhooks: webhooksTo(receiver) });
    app.analytics.track({ userId: 'u1', event: 'Tracked' });
    await app.log.line(/may not use the schema `nestjs_analytics`/);
    await admin.query('ALTER TABLE nestjs_analytics.missing RENAME TO delivery_hour');
    await app.log.line(/may use the schema `nestjs_analytics` again/);
  });

  it('is reported once when it may no longer use a table of the queue, which takes no more jobs', async () => {
    await used({ connection: url });
    await admin.query('CREATE ROLE curtailed LOGIN');
    await grant('curtailed', 'bullmq, nestjs_analytics');
    const receiver = await stage.receiver();
    const app = await stage.app({ connection: asRole('curtailed'), webhooks: webhooksTo(receiver) });
    await admin.query('REVOKE ALL ON bullmq.meta FROM curtailed');
    app.analytics.track({ userId: 'u1', event: 'Kept' });
    await app.log.line(/takes no more jobs/);
    const before = await rollbacks();
    await until(async () => ((await rollbacks()) > before + 5 ? true : undefined), 100);
    await admin.query('GRANT ALL ON bullmq.meta TO curtailed');
    await receiver.received(1);
    await app.log.line(/is back/);
    expect(app.log.analytics.filter((line) => line.includes('The queue on PostgreSQL'))).toEqual([
      expect.stringMatching(/takes no more jobs \(the user may not use the table `meta`.*42501\)/),
      expect.stringContaining('is back'),
    ]);
  });

  it('may have a password that a function of the Pool supplies for each connection, such as a token', async () => {
    await admin.query(`CREATE ROLE token LOGIN SUPERUSER PASSWORD 'of this minute'`);
    await server.askForPassword('token');
    const connection = new pg.Pool({
      host: '127.0.0.1',
      port: server.port,
      database: new URL(url).pathname.slice(1),
      user: 'token',
      password: () => Promise.resolve('of this minute'),
    });
    const receiver = await stage.receiver();
    const app = await stage.app({
      connection,
      outbox: { connection, migrate: true },
      webhooks: webhooksTo(receiver),
    });
    app.analytics.track({ userId: 'u1', event: 'Tracked' });
    await app.analytics.within(connection).track({ userId: 'u1', event: 'Stored' });
    await receiver.received(2);
    expect(app.log.analytics).toEqual([]);
    await connection.end();
  });
});

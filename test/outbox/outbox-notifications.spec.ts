import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import pg from 'pg';
import type { OutboxDatabase } from '../../src/options/outbox-options.interface.js';
import { OUTBOX_CHANNEL } from '../../src/outbox/outbox-table.js';
import { PgDatabase } from '../../src/outbox/pg-database.js';
import type { AnalyticsApp } from '../support/analytics-app.js';
import { deferred } from '../support/deferred.js';
import { describeWith } from '../support/describe-backend.js';
import { PostgresServer } from '../support/postgres-server.js';
import type { Receiver } from '../support/receiver.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';
import { Shop } from './outbox-stage.js';

/** Far more commits than a relay makes looks by itself in the same time. */
const COMMITS = 100;
/** Interval at which a relay looks by itself, in milliseconds. */
const POLL = 2_000;
/** Number of rows that were moved while a session kept a snapshot. */
const MOVED = 20_000;
/** Time that such a look takes at least, in milliseconds: as long as if far more rows had been moved. */
const SLOW = 200;
/** Number of rows that a relay claims at once. */
const LIMIT = 500;
/** Returns how many entries of the index the current transaction has read. */
const READ = `SELECT pg_stat_get_xact_tuples_returned('nestjs_analytics.billing_due'::regclass)::int AS entries`;

describeWith('postgres', PostgresServer.installed, 'a relay in a database with other sessions', () => {
  const stage = new Stage();
  let server: PostgresServer;
  let shop: Shop;
  let receiver: Receiver;
  /** Number of times that the relay of the table `billing` has looked for rows. */
  let looks: number;
  let onLook: () => void;
  /** Number of these looks that have read an entry of the index for each row of `MOVED`. */
  let looksAtAll: number;
  let billing: AnalyticsApp;

  beforeAll(async () => {
    server = await PostgresServer.create();
  });
  beforeEach(async () => {
    shop = await stage.add(Shop.open(await server.createDatabase()));
    receiver = await stage.receiver();
    looks = 0;
    looksAtAll = 0;
    onLook = () => undefined;
    const database = await stage.add(PgDatabase.open(shop.url));
    const connection: OutboxDatabase = {
      query: async (text, values) => {
        if (!isLook(text)) return database.query(text, values);
        const { result, entries } = await look(text, values);
        looks++;
        if (entries >= MOVED) {
          looksAtAll++;
          await pause(SLOW);
        }
        onLook();
        return result;
      },
      listen: (channel, callback) => database.listen(channel, callback),
    };
    billing = await stage.app({
      connection: shop.url,
      prefix: 'billing',
      webhooks: webhooksTo(receiver),
      outbox: { table: 'billing', migrate: true, connection },
    });
  });
  afterAll(() => server.dispose());

  function isLook(text: string): boolean {
    return text.includes('due_at <=');
  }

  /** Looks for rows, and counts the entries of the index that this reads. */
  async function look(text: string, values: unknown[]): Promise<{ result: pg.QueryResult; entries: number }> {
    const client = await shop.pool.connect();
    const entries = async (): Promise<number> => {
      const { rows } = await client.query<{ entries: number }>(READ);
      return rows[0]?.entries ?? 0;
    };
    try {
      await client.query('BEGIN');
      const before = await entries();
      const result = await client.query(text, values);
      const after = await entries();
      await client.query('COMMIT');
      return { result, entries: after - before };
    } finally {
      client.release();
    }
  }

  it('is not woken by commits to another table', async () => {
    const app = await stage.app({
      connection: shop.url,
      prefix: 'shop',
      webhooks: webhooksTo(receiver),
      outbox: { connection: shop.url, migrate: true },
    });
    looks = 0;
    const begunAt = performance.now();
    for (let commit = 1; commit <= COMMITS; commit++) {
      await shop.pay(app);
      await receiver.received(commit);
    }
    const byItself = (performance.now() - begunAt) / POLL;
    expect(looks).toBeLessThan(COMMITS / 5 + byItself);
  });

  it('is woken by a version of the package that does not say to which table it wrote', async () => {
    // A relay that looks by itself would take more than three minutes for this many looks.
    for (let commit = 1; commit <= COMMITS; commit++) {
      const looked = deferred();
      onLook = looked.resolve;
      await shop.pool.query(`SELECT pg_notify('${OUTBOX_CHANNEL}', '')`);
      await looked.promise;
    }
    expect(looks).toBeGreaterThanOrEqual(COMMITS);
  });

  it('rarely reads what was moved while a session kept its snapshot', async () => {
    const reader = new pg.Client({ connectionString: shop.url });
    await stage.add(reader.connect().then(() => ({ close: () => reader.end() })));
    await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await reader.query('SELECT 1 FROM nestjs_analytics.billing');
    const long = await shop.pool.connect();
    await long.query('BEGIN');
    await billing.analytics.within(long).track({ userId: 'u1', event: 'Invoice Sent' });
    // One transaction, so that the relay leaves these rows alone.
    await shop.pool.query(`
      INSERT INTO nestjs_analytics.billing (version, source, message)
        SELECT 1, 'default', '{}' FROM generate_series(1, ${MOVED});
      DELETE FROM nestjs_analytics.billing`);
    for (let commit = 1; commit <= COMMITS; commit++) {
      await shop.pay(billing);
      await receiver.received(commit);
    }
    expect(looks).toBeGreaterThanOrEqual(COMMITS);
    expect(looksAtAll).toBeGreaterThanOrEqual(1);
    expect(looksAtAll).toBeLessThan(looks / 4);
    // Its id is lower than those of all rows that were moved.
    await long.query('COMMIT');
    long.release();
    await receiver.received(COMMITS + 1);
  });

  it('claims the rows of a killed process first, and newer rows at every other look', async () => {
    const options = { connection: shop.url, prefix: 'shop', webhooks: webhooksTo(receiver) };
    const producer = await stage.app({
      ...options,
      worker: false,
      outbox: { connection: shop.url, migrate: true },
    });
    await shop.pay(producer);
    await shop.pool.query(`INSERT INTO nestjs_analytics.outbox (version, source, message)
      SELECT version, source, message FROM nestjs_analytics.outbox, generate_series(2, ${4 * LIMIT})`);
    await shop.pool.query(`UPDATE nestjs_analytics.outbox SET due_at = now() WHERE id <= ${2 * LIMIT}`);
    const database = await stage.add(PgDatabase.open(shop.url));
    const claimed: number[][] = [];
    const connection: OutboxDatabase = {
      query: async (text, values) => {
        const result = await database.query(text, values);
        if (isLook(text)) claimed.push((result.rows as { id: number }[]).map(({ id }) => id));
        return result;
      },
    };
    await stage.app({ ...options, outbox: { connection } });
    await receiver.received(1);
    const isOld = (id: number): boolean => id <= 2 * LIMIT;
    await until(() => (claimed.length > 2 ? true : undefined));
    expect(claimed.slice(0, 3).map((ids) => ids.filter(isOld).length)).toEqual([LIMIT, 0, LIMIT]);
    expect(claimed[1]).toHaveLength(LIMIT);
  });
});

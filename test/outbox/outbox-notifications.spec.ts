import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { OutboxDatabase } from '../../src/options/outbox-options.interface.js';
import { OUTBOX_CHANNEL } from '../../src/outbox/outbox-table.js';
import { PgDatabase } from '../../src/outbox/pg-database.js';
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
/** Number of rows that a relay claims at once. */
const LIMIT = 500;

describeWith('postgres', PostgresServer.installed, 'a relay beside other outboxes of its database', () => {
  const stage = new Stage();
  let server: PostgresServer;
  let shop: Shop;
  let receiver: Receiver;
  /** Number of times that the relay of the table `billing` has looked for rows. */
  let looks: number;
  let onLook: () => void;

  beforeAll(async () => {
    server = await PostgresServer.create();
  });
  beforeEach(async () => {
    shop = await stage.add(Shop.open(await server.createDatabase()));
    receiver = await stage.receiver();
    looks = 0;
    onLook = () => undefined;
    const database = await stage.add(PgDatabase.open(shop.url));
    const connection: OutboxDatabase = {
      query: async (text, values) => {
        const result = await database.query(text, values);
        if (isLook(text)) {
          looks++;
          onLook();
        }
        return result;
      },
      listen: (channel, callback) => database.listen(channel, callback),
    };
    await stage.app({
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

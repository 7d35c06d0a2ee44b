import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { OutboxDatabase } from '../../src/options/outbox-options.interface.js';
import { OUTBOX_CHANNEL } from '../../src/outbox/outbox-table.js';
import { PgDatabase } from '../../src/outbox/pg-database.js';
import { deferred } from '../support/deferred.js';
import { describeWith } from '../support/describe-backend.js';
import { PostgresServer } from '../support/postgres-server.js';
import type { Receiver } from '../support/receiver.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { Shop } from './outbox-stage.js';

/** Far more commits than a relay makes looks by itself in the same time. */
const COMMITS = 100;
/** Interval at which a relay looks by itself, in milliseconds. */
const POLL = 2_000;

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
        if (text.includes('due_at <=')) {
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
});

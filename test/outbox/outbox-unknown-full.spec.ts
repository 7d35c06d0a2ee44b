import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { PostgresBacklogStore } from '../../src/queue/postgres/postgres-backlog-store.js';
import { describeWith } from '../support/describe-backend.js';
import { PostgresServer } from '../support/postgres-server.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';
import { Shop } from './outbox-stage.js';

const ROWS = 30;
const LIMIT = 10_000;
/** Number of rows that the queue has room for. */
const ROOM = 10;

describeWith(
  'postgres',
  PostgresServer.installed,
  'an outbox with rows for a destination that was removed',
  () => {
    const stage = new Stage();
    let server: PostgresServer;

    beforeAll(async () => {
      server = await PostgresServer.create();
    });
    afterAll(() => server.dispose());

    it('keeps rows in the table that would flood the queue', async () => {
      const shop = await stage.add(Shop.open(await server.createDatabase()));
      const receiver = await stage.receiver();
      const options = { connection: shop.url, outbox: { connection: shop.url, migrate: true } };
      const before = await stage.app({
        ...options,
        webhooks: webhooksTo(receiver, { id: 'gone' }),
        worker: false,
      });
      await Promise.all(Array.from({ length: ROWS }, () => shop.pay(before)));
      // As if the destination had been full, and nearly its limit of messages waited for it in the queue.
      await shop.rows(
        `UPDATE nestjs_analytics.outbox SET destinations = '{gone}', due_at = '9999-01-01T00:00:00Z'`,
      );
      await new PostgresBacklogStore(shop.pool).add(new Map([['gone', LIMIT - ROOM]]));
      await stage.app({ ...options, webhooks: webhooksTo(receiver, { id: 'other' }) });
      const left = await until(async () => {
        const rows = await shop.rows('SELECT id FROM nestjs_analytics.outbox');
        return rows.length < ROWS ? rows : undefined;
      });
      expect(left).toHaveLength(ROWS - ROOM);
    });
  },
);

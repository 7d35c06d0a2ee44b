import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { AnalyticsApp } from '../support/analytics-app.js';
import { describeWith } from '../support/describe-backend.js';
import { receivedIds } from '../support/message-ids.js';
import { PostgresServer } from '../support/postgres-server.js';
import type { Receiver } from '../support/receiver.js';
import { Stage } from '../support/stage.js';
import { until } from '../support/until.js';
import { DamagedTable } from '../stored-destinations/damaged-table.js';
import { Shop } from './outbox-stage.js';

describeWith(
  'postgres',
  PostgresServer.installed,
  'an outbox with rows of a tenant that cannot be looked up',
  () => {
    const stage = new Stage();
    let server: PostgresServer;
    let shop: Shop;
    let acme: Receiver;
    let damaged: Receiver;
    let table: DamagedTable;
    let app: AnalyticsApp;

    beforeAll(async () => {
      server = await PostgresServer.create();
    });
    beforeEach(async () => {
      shop = await stage.add(Shop.open(await server.createDatabase()));
      [acme, damaged] = [await stage.receiver(), await stage.receiver()];
      table = new DamagedTable();
      table.rows.push({ id: 'acme-hook', tenant: 'acme', urls: [acme.url()] });
      table.rows.push({ id: 'damaged-hook', tenant: 'damaged', urls: [damaged.url()] });
      app = await stage.app({
        connection: shop.url,
        destinations: { store: table, allowPrivateNetwork: true },
        outbox: { connection: shop.url, migrate: true },
      });
    });
    afterAll(() => server.dispose());

    it('moves rows of other tenants, and rows of this tenant when it can be looked up', async () => {
      const waiting = await shop.pay(app, { tenant: 'damaged' });
      const passing = await shop.pay(app, { tenant: 'acme' });
      await acme.received(1);
      expect(receivedIds(acme)).toEqual([passing]);
      expect(receivedIds(damaged)).toEqual([]);
      table.isRepaired = true;
      await damaged.received(1);
      expect(receivedIds(damaged)).toEqual([waiting]);
    });

    it('removes the note of another process that has left a row to others', async () => {
      await shop.pay(app, { tenant: 'damaged' });
      const look = (): Promise<object[]> =>
        shop.rows(`SELECT problem FROM nestjs_analytics.outbox WHERE due_at > now()`);
      await until(async () => ((await look()).length === 1 ? true : undefined));
      await shop.rows(
        `UPDATE nestjs_analytics.outbox SET problem = 'left to other processes', due_at = now()`,
      );
      const [row] = await until(async () => {
        const rows = await look();
        return rows.length === 1 ? rows : undefined;
      });
      expect(row).toEqual({ problem: null });
    });

    // A second for each row that cannot be looked up would take longer than a test may.
    it('does not wait for each of these rows', async () => {
      for (let count = 1; count <= 130; count++) {
        await shop.pay(app, { tenant: 'damaged' });
        await shop.pay(app, { tenant: 'acme' });
        await acme.received(count);
      }
    });
  },
);

import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { firstValueFrom, take, toArray } from 'rxjs';
import { DeliveriesService, DestinationsService } from '../../src/index.js';
import type { AnalyticsApp } from '../support/analytics-app.js';
import { describeWith } from '../support/describe-backend.js';
import { receivedIds } from '../support/message-ids.js';
import { PostgresServer } from '../support/postgres-server.js';
import type { Receiver } from '../support/receiver.js';
import { Stage } from '../support/stage.js';
import { until } from '../support/until.js';
import { Shop } from './outbox-stage.js';

describeWith(
  'postgres',
  PostgresServer.installed,
  'an outbox with rows that wait for a destination which is changed',
  () => {
    const stage = new Stage();
    let server: PostgresServer;
    let shop: Shop;
    let receiver: Receiver;
    let isOpen: boolean;
    let app: AnalyticsApp;
    let destinations: DestinationsService;
    let deliveries: DeliveriesService;
    /** Id of the destination. */
    let id: string;
    /** Ids of a message in the queue and of one in the table. */
    let messageIds: string[];

    beforeAll(async () => {
      server = await PostgresServer.create();
    });
    beforeEach(async () => {
      shop = await stage.add(Shop.open(await server.createDatabase()));
      isOpen = false;
      receiver = await stage.receiver({ answer: () => (isOpen ? 200 : 503) });
      app = await stage.app({
        connection: shop.url,
        destinations: { allowPrivateNetwork: true, encryptionKey: '0'.repeat(64), backlogLimit: 1 },
        outbox: { connection: shop.url, migrate: true },
      });
      destinations = app.context.get(DestinationsService);
      deliveries = app.context.get(DeliveriesService);
      ({ id } = await destinations.create({ tenant: 'acme', urls: [receiver.url()] }));
      const queued = await shop.pay(app, { tenant: 'acme' });
      await receiver.received(1);
      messageIds = [queued, await shop.pay(app, { tenant: 'acme' })].sort();
      await until(async () => {
        const [row] = await shop.rows<{ destinations: string[] | null }>(
          'SELECT destinations FROM nestjs_analytics.outbox',
        );
        return row?.destinations?.includes(id) === true ? true : undefined;
      });
    });
    afterAll(() => server.dispose());

    it('keeps the messages while the destination is disabled, and delivers them when it is enabled', async () => {
      await destinations.disable(id);
      await gone();
      const failed = await until(async () => {
        const found = await deliveries.failed({ destination: id });
        return found.length === 2 ? found : undefined;
      });
      expect(failed.map(({ messageId }) => messageId).sort()).toEqual(messageIds);
      await arrived(() => destinations.enable(id));
    });

    it('reports the messages as dropped when the destination is deleted', async () => {
      const dropped = firstValueFrom(deliveries.outcomes$.pipe(take(2), toArray()));
      await destinations.delete(id);
      const outcomes = await dropped;
      expect(outcomes.map(({ messageId }) => messageId).sort()).toEqual(messageIds);
      expect(outcomes.map((outcome) => outcome.class)).toEqual(['dropped', 'dropped']);
      await gone();
    });

    it('delivers the messages even if the destination no longer wants such events', async () => {
      await destinations.update(id, { events: ['Order Refunded'] });
      await arrived();
      await gone();
    });

    it('sets aside a row whose destinations are not ids', async () => {
      await shop.rows(`UPDATE nestjs_analytics.outbox SET destinations = ARRAY[NULL, '${id}']`);
      await destinations.disable(id);
      const [row] = await until(async () => {
        const rows = await shop.rows<{ problem: string | null }>(
          `SELECT problem FROM nestjs_analytics.outbox WHERE due_at = 'infinity'`,
        );
        return rows.length === 1 ? rows : undefined;
      });
      expect(row?.problem).toBe('its `destinations` contain something other than ids');
    });

    /** Makes the receiver answer 200 from now on. Resolves when it has accepted each message. */
    async function arrived(change?: () => Promise<unknown>): Promise<void> {
      const refused = receiver.requests.length;
      isOpen = true;
      await change?.();
      const ids = await until(() => {
        const taken = receivedIds({ requests: receiver.requests.slice(refused) });
        return taken.length === 2 ? taken : undefined;
      });
      expect(ids).toEqual(messageIds);
    }

    /** Resolves when the table is empty. */
    async function gone(): Promise<void> {
      await until(async () => {
        const rows = await shop.rows('SELECT id FROM nestjs_analytics.outbox');
        return rows.length === 0 ? true : undefined;
      });
    }
  },
);

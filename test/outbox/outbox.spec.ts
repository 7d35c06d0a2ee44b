import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { OutboxService } from '../../src/index.js';
import { describeBackend, describeWith } from '../support/describe-backend.js';
import { receivedIds } from '../support/message-ids.js';
import { PostgresServer } from '../support/postgres-server.js';
import { messageIn } from '../support/received-message.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';
import { Shop } from './outbox-stage.js';

describeWith('postgres', PostgresServer.installed, 'an outbox', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await PostgresServer.create();
  });
  afterAll(() => server.dispose());

  describeBackend('beside a queue', (backend) => {
    const stage = new Stage();

    it('delivers an event when its transaction is committed, and none when it is rolled back', async () => {
      const shop = await stage.add(Shop.open(await server.createDatabase()));
      const receiver = await stage.receiver();
      const app = await stage.app({
        connection: backend.connection,
        webhooks: webhooksTo(receiver),
        outbox: { connection: shop.url, migrate: true },
      });
      await expect(shop.pay(app, { id: 'o1', fails: true })).rejects.toThrow('the payment failed');
      const messageId = await shop.pay(app, { id: 'o2' });
      await receiver.received(1);
      await app.settled();
      expect(receivedIds(receiver)).toEqual([messageId]);
      expect(receiver.requests.map((request) => messageIn(request))).toMatchObject([
        { event: 'Order Completed', userId: 'u1', messageId, properties: { order: 'o2' } },
      ]);
      const status = await until(async () => {
        const found = await app.context.get(OutboxService).status();
        return found.waiting === 0 ? found : undefined;
      });
      expect(status).toEqual({ waiting: 0, oldestAge: 0, setAside: 0 });
      expect(app.log.analytics).toEqual([]);
    });
  });
});

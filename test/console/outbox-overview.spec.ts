import { afterAll, beforeAll, it } from '@jest/globals';
import { OutboxService } from '../../src/index.js';
import { Shop } from '../outbox/outbox-stage.js';
import { Browser } from '../support/browser.js';
import { describeWith } from '../support/describe-backend.js';
import { PostgresServer } from '../support/postgres-server.js';
import { webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';
import { ConsoleApp } from './console-app.js';
import { ConsoleVisit } from './console-visit.js';
import { untilTrue } from './until-true.js';

/** A row that no version of this package writes. */
const BROKEN = `INSERT INTO nestjs_analytics.outbox (version, source, message) VALUES (1, 'default', '{')`;

describeWith('chromium', Browser.binary !== undefined, 'the overview of an application', () => {
  describeWith('postgres', PostgresServer.installed, 'with an outbox', () => {
    let database: PostgresServer;
    let shop: Shop;

    beforeAll(async () => {
      database = await PostgresServer.create();
      shop = await Shop.open(await database.createDatabase());
    });
    const visit = new ConsoleVisit(
      (connection) =>
        ConsoleApp.start(connection, {
          answer: [503],
          analytics: (receiver) => ({
            webhooks: webhooksTo(receiver, { backlogLimit: 1 }),
            outbox: { connection: shop.url, migrate: true },
          }),
        }),
      'operator',
    );
    afterAll(async () => {
      await shop.close();
      await database.dispose();
    });

    it('shows how many rows wait there, how long the oldest one has waited, and how many are set aside', async () => {
      const { visitor, app } = visit;
      const outbox = app.server.app.get(OutboxService);
      await visitor.reads('Oldest in the outbox\nNone');
      await visitor.reads('Set aside in the outbox\n0');
      // The first row waits in the queue, which then accepts no more rows.
      await shop.pay(app.server);
      await app.receiver.received(1);
      for (let n = 0; n < 2; n++) await shop.pay(app.server);
      await shop.pool.query(BROKEN);
      await until(async () => {
        const { waiting, setAside } = await outbox.status();
        return waiting === 2 && setAside === 1 ? true : undefined;
      });
      await visitor.reads('In the outbox\n2');
      await visitor.reads('Set aside in the outbox\n1');
      await untilTrue(
        visitor.page,
        String.raw`/Oldest in the outbox\n\d+ (s|min)\n/.test(document.body.innerText)`,
      );
    });
  });
});

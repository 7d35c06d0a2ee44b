import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { DestinationsService } from '../../src/index.js';
import { describeWith } from '../support/describe-backend.js';
import { receivedIds } from '../support/message-ids.js';
import { PostgresServer } from '../support/postgres-server.js';
import { Stage } from '../support/stage.js';
import { until } from '../support/until.js';
import { Shop } from './outbox-stage.js';

describeWith(
  'postgres',
  PostgresServer.installed,
  'an outbox with rows for which `destinations.tenant` throws',
  () => {
    const stage = new Stage();
    let server: PostgresServer;

    beforeAll(async () => {
      server = await PostgresServer.create();
    });
    afterAll(() => server.dispose());

    it('logs where the function throws, and moves the rows once it is corrected', async () => {
      const shop = await stage.add(Shop.open(await server.createDatabase()));
      const acme = await stage.receiver();
      let isCorrected = false;
      const app = await stage.app({
        connection: shop.url,
        destinations: {
          allowPrivateNetwork: true,
          encryptionKey: false,
          tenant: () => {
            if (!isCorrected) throw new TypeError('no such user');
            return 'acme';
          },
        },
        outbox: { connection: shop.url, migrate: true },
      });
      await app.context.get(DestinationsService).create({ tenant: 'acme', urls: [acme.url()] });

      const ids = [await shop.pay(app), await shop.pay(app)];
      const threw = /`destinations\.tenant` threw TypeError at .*outbox-tenants\.spec/;
      const problems = await until(async () => {
        const rows = await shop.rows<{ problem: string | null }>(
          'SELECT problem FROM nestjs_analytics.outbox WHERE problem IS NOT NULL',
        );
        return rows.length === 2 ? rows.map(({ problem }) => problem) : undefined;
      });
      expect(problems).toEqual([expect.stringMatching(threw), expect.stringMatching(threw)]);
      expect(await app.log.line(threw)).toMatch(
        /^warn: Rows of nestjs_analytics\.outbox are waiting, for example row \d+: .* moved once the function returns\.$/,
      );
      expect(app.log.analytics.filter((line) => threw.test(line))).toHaveLength(1);
      expect([problems, app.log.analytics].flat().join()).not.toContain('no such user');

      isCorrected = true;
      await acme.received(2);
      expect(receivedIds(acme).sort()).toEqual(ids.sort());
      await until(async () =>
        (await shop.rows('SELECT id FROM nestjs_analytics.outbox')).length === 0 ? true : undefined,
      );
    });
  },
);

import { expect, it } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { lookup } from 'node:dns/promises';
import {
  AnalyticsModule,
  AnalyticsService,
  DeliveriesService,
  type EndpointEvent,
  type WebhooksOptions,
} from '../../src/index.js';
import { HostResolver } from '../../src/webhooks/http/host-resolver.js';
import { WebhookClients } from '../../src/webhooks/http/webhook-clients.js';
import { WEBHOOK_CLIENTS } from '../../src/webhooks/webhooks.tokens.js';
import { describeAnyServer } from '../support/describe-backend.js';
import { DnsServer } from '../support/dns-server.js';
import { LogLines } from '../support/log-lines.js';
import { Stage } from '../support/stage.js';

const DESTINATIONS = 10;
const MESSAGES = 35;

describeAnyServer(
  'ten destinations whose names no DNS server answers for, beside ten healthy ones',
  (backend) => {
    const stage = new Stage();

    it('delay neither the healthy destinations nor the look-ups of the application', async () => {
      const receiver = await stage.receiver();
      const dns = await stage.add(
        DnsServer.start(({ name }) => (name.startsWith('silent') ? 'silent' : ['127.0.0.1'])),
      );
      const urlOf = (host: string): string => `http://${host}.test:${receiver.port}/`;
      const webhooks = Array.from({ length: DESTINATIONS }, (_, index): WebhooksOptions[] => [
        {
          id: `silent-${index}`,
          urls: [1, 2, 3, 4, 5].map((url) => urlOf(`silent-${index}-${url}`)),
          allowPrivateNetwork: true,
        },
        { id: `healthy-${index}`, urls: [urlOf(`healthy-${index}`)], allowPrivateNetwork: true },
      ]).flat();
      const app = await Test.createTestingModule({
        imports: [
          AnalyticsModule.forRoot({
            writeKey: 'wk_test',
            connection: backend.connection,
            webhooks,
            shutdownTimeout: 1_000,
          }),
        ],
      })
        .setLogger(new LogLines())
        .overrideProvider(WEBHOOK_CLIENTS)
        .useFactory({ factory: () => new WebhookClients(10, new HostResolver({ servers: [dns.address] })) })
        .compile();
      await stage.add(app.init());
      const events: EndpointEvent[] = [];
      app.get(DeliveriesService).endpoints$.subscribe((event) => events.push(event));

      for (let n = 0; n < MESSAGES; n++)
        app.get(AnalyticsService).track({ userId: 'u1', event: `Event ${n}` });
      await app.get(AnalyticsService).flush();
      // Behind the silent names, both would have to wait until those look-ups were given up.
      for (let n = 0; n < 5; n++) await lookup('localhost');
      await receiver.received(DESTINATIONS * MESSAGES);

      expect(events.filter(({ type }) => type === 'down')).toEqual([]);
      const hosts = receiver.requests.map(({ headers }) => headers.host?.split('.')[0] ?? '');
      expect(new Set(hosts)).toEqual(
        new Set(webhooks.flatMap(({ id = '' }) => (id.startsWith('h') ? [id] : []))),
      );
      expect(events.filter(({ destination }) => destination.startsWith('healthy'))).toEqual([]);
    });
  },
);

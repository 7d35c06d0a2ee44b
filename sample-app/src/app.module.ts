import { type DynamicModule, Module } from '@nestjs/common';
import { AnalyticsModule } from 'nestjs-analytics';
import { PageController } from './page/page.controller.js';
import { ReceiverModule } from './receiver/receiver.module.js';
import type { ShopDatabase } from './shop/shop-database.js';
import { ShopModule } from './shop/shop.module.js';
import type { Settings } from './start/settings.js';
import { WebhookModule } from './webhook/webhook.module.js';

/** The shop, the analytics that it uses, and the receiver that a customer of such analytics would run. */
@Module({})
export class AppModule {
  static with({ port, queueUrl, worker, sharedSecret }: Settings, database: ShopDatabase): DynamicModule {
    const shop = ShopModule.with(database);
    return {
      module: AppModule,
      imports: [
        AnalyticsModule.forRoot({
          writeKey: 'wk_shop',
          webhooks: {
            urls: [`http://127.0.0.1:${port}/hooks`],
            headers: { 'X-Shop': 'sample' },
            sharedSecret,
            // The receiver is on this machine; elsewhere this stays off, so that no URL reaches into the network.
            allowPrivateNetwork: true,
          },
          // Visitors register webhooks of their own: each is a tenant, whose events are those of its browser.
          destinations: {
            tenant: (message) => ('anonymousId' in message ? message.anonymousId : undefined),
            // The shop has no secrets worth a key; elsewhere this is one, from the environment.
            encryptionKey: false,
            allowPrivateNetwork: true,
          },
          // All webhooks, for whoever sits at this machine; elsewhere, this looks at who is signed in.
          console: { authorize: () => ({ operator: true }) },
          // Without a URL the queue is embedded in this process, in `.analytics` of the working directory.
          ...(queueUrl === undefined ? {} : { connection: queueUrl }),
          // What is paid in a transaction: its event is a row beside the order.
          outbox: { connection: database.connection, migrate: true },
          // Five seconds are the default, and long for someone who watches the page.
          flushAfter: 1_000,
          // Asked when an event is recorded: whoever signs up is a customer by then.
          identity: ({ request }) => ({
            anonymousId: request?.visitor?.id,
            userId: request?.visitor?.customer?.id,
          }),
          context: { app: { name: 'sample-shop', version: '1.0' } },
          worker,
        }),
        ReceiverModule.with(sharedSecret),
        shop,
        WebhookModule.on(port, shop),
      ],
      controllers: [PageController],
    };
  }
}

import { type DynamicModule, Module } from '@nestjs/common';
import { AnalyticsModule } from 'nestjs-analytics';
import { PageController } from './page/page.controller.js';
import { ReceiverModule } from './receiver/receiver.module.js';
import type { ShopDatabase } from './shop/shop-database.js';
import { ShopModule } from './shop/shop.module.js';
import type { Settings } from './start/settings.js';
import { WebhookModule } from './webhook/webhook.module.js';

/** The shop, the analytics that it uses, and a receiver such as a customer would run. */
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
            // The receiver is on this machine. Leave this off in production, so that no URL reaches your network.
            allowPrivateNetwork: true,
          },
          // Visitors register their own webhooks: each visitor is a tenant, with the events of one browser.
          destinations: {
            tenant: (message) => ('anonymousId' in message ? message.anonymousId : undefined),
            // The shop's secrets need no encryption. In production, set a key from the environment.
            encryptionKey: false,
            allowPrivateNetwork: true,
          },
          // Whoever uses this machine sees all webhooks. In production, check who is signed in.
          console: { authorize: () => ({ operator: true }) },
          // Without a URL, the queue is embedded in this process, and stored in `.analytics` in the working directory.
          ...(queueUrl === undefined ? {} : { connection: queueUrl }),
          // The event of an order that is paid in a transaction is a row in the same database.
          outbox: { connection: database.connection, migrate: true },
          // The default is five seconds, which is long for someone who watches the page.
          flushAfter: 1_000,
          // Called when an event is recorded: by then, a visitor who signs up is a customer.
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

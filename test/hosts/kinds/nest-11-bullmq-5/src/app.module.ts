import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { AnalyticsModule } from 'nestjs-analytics';
import { MailsProcessor } from './mails.processor.js';
import { OrdersController } from './orders.controller.js';
import { OrdersService } from './orders.service.js';

/** The analytics queue uses the Redis of the application's own queues, without any configuration. */
@Module({
  imports: [
    BullModule.forRoot({ connection: { url: process.env.QUEUE_URL } }),
    BullModule.registerQueue({ name: 'mails' }),
    AnalyticsModule.forRoot({
      writeKey: 'wk_shop',
      flushAt: 1,
      webhooks: {
        urls: [process.env.RECEIVER_URL ?? 'https://hooks.example.com/events'],
        sharedSecret: 'teehee',
        allowPrivateNetwork: true,
      },
      destinations: { encryptionKey: false },
      console: { authorize: () => ({ operator: true }) },
    }),
  ],
  controllers: [OrdersController],
  providers: [OrdersService, MailsProcessor],
})
export class AppModule {}

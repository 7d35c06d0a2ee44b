import { Module } from '@nestjs/common';
import { AnalyticsModule } from 'nestjs-analytics';
import { OrdersController } from './orders.controller.js';
import { OrdersService } from './orders.service.js';

@Module({
  imports: [
    AnalyticsModule.forRootAsync({
      useFactory: () => ({
        writeKey: 'wk_shop',
        flushAt: 1,
        webhooks: {
          urls: [process.env.RECEIVER_URL ?? 'https://hooks.example.com/events'],
          sharedSecret: 'teehee',
          allowPrivateNetwork: true,
        },
        destinations: { encryptionKey: false },
        console: { authorize: () => ({ operator: true }) },
        connection: process.env.QUEUE_URL,
      }),
    }),
  ],
  controllers: [OrdersController],
  providers: [OrdersService],
})
export class AppModule {}

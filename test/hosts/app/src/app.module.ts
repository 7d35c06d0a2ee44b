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
          urls: [process.env.RECEIVER_URL ?? ''],
          sharedSecret: 'teehee',
          allowPrivateNetwork: true,
        },
        connection:
          process.env.QUEUE_URL ??
          (process.env.NODE_ENV === 'test' ? { embedded: { dataDir: 'memory://' } } : undefined),
      }),
    }),
  ],
  controllers: [OrdersController],
  providers: [OrdersService],
})
export class AppModule {}

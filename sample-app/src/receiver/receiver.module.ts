import { type DynamicModule, Module } from '@nestjs/common';
import { DeliveriesController } from './deliveries.controller.js';
import { DeliveryLog } from './delivery-log.js';
import { HooksController } from './hooks.controller.js';
import { Receiver, SHARED_SECRET } from './receiver.js';

/** Stands in for the customer's application, so it shares nothing with the shop except the secret. */
@Module({
  providers: [DeliveryLog, Receiver],
  controllers: [HooksController, DeliveriesController],
})
export class ReceiverModule {
  static with(sharedSecret: string): DynamicModule {
    return {
      module: ReceiverModule,
      providers: [{ provide: SHARED_SECRET, useValue: sharedSecret }],
    };
  }
}

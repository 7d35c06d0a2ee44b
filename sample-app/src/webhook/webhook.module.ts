import { type DynamicModule, type MiddlewareConsumer, Module, type NestModule } from '@nestjs/common';
import { VisitorMiddleware } from '../shop/visitor.middleware.js';
import { OwnDeliveries } from './own-deliveries.js';
import { OwnHooksController } from './own-hooks.controller.js';
import { OWN_HOOKS_URL, WebhookController } from './webhook.controller.js';

/** Lets visitors register webhooks of their own. */
@Module({
  providers: [OwnDeliveries],
  controllers: [WebhookController, OwnHooksController],
})
export class WebhookModule implements NestModule {
  /** @param shop exports `Customers`, which `VisitorMiddleware` needs */
  static on(port: number, shop: DynamicModule): DynamicModule {
    const url = `http://127.0.0.1:${port}/own-hooks`;
    return { module: WebhookModule, imports: [shop], providers: [{ provide: OWN_HOOKS_URL, useValue: url }] };
  }

  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(VisitorMiddleware).forRoutes(WebhookController);
  }
}

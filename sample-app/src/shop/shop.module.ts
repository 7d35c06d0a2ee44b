import { type DynamicModule, type MiddlewareConsumer, Module, type NestModule } from '@nestjs/common';
import { AccountController } from './account.controller.js';
import { AudiencesController } from './audiences.controller.js';
import { BigSpenders } from './big-spenders.js';
import { Catalogue } from './catalogue.js';
import { Customers } from './customers.js';
import { Orders } from './orders.js';
import { OrdersController } from './orders.controller.js';
import { PaymentsController } from './payments.controller.js';
import { ProductsController } from './products.controller.js';
import { ShopDatabase } from './shop-database.js';
import { VisitorMiddleware } from './visitor.middleware.js';

/** `AnalyticsService` and `AudiencesService` need no import here: their module is global. */
@Module({
  providers: [Catalogue, Customers, Orders, BigSpenders],
  controllers: [
    ProductsController,
    AccountController,
    OrdersController,
    PaymentsController,
    AudiencesController,
  ],
  // `WebhookModule` needs `Customers` to recognise visitors.
  exports: [Customers],
})
export class ShopModule implements NestModule {
  static with(database: ShopDatabase): DynamicModule {
    return { module: ShopModule, providers: [{ provide: ShopDatabase, useValue: database }] };
  }

  configure(consumer: MiddlewareConsumer): void {
    consumer
      .apply(VisitorMiddleware)
      .forRoutes(ProductsController, AccountController, OrdersController, PaymentsController);
  }
}

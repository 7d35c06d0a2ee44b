import { type MiddlewareConsumer, Module, type NestModule } from '@nestjs/common';
import { AccountController } from './account.controller.js';
import { AudiencesController } from './audiences.controller.js';
import { BigSpenders } from './big-spenders.js';
import { Catalogue } from './catalogue.js';
import { Customers } from './customers.js';
import { Orders } from './orders.js';
import { OrdersController } from './orders.controller.js';
import { ProductsController } from './products.controller.js';
import { VisitorMiddleware } from './visitor.middleware.js';

/** `AnalyticsService` and `AudiencesService` need no import here: their module is global. */
@Module({
  providers: [Catalogue, Customers, Orders, BigSpenders],
  controllers: [ProductsController, AccountController, OrdersController, AudiencesController],
})
export class ShopModule implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(VisitorMiddleware).forRoutes(ProductsController, AccountController, OrdersController);
  }
}

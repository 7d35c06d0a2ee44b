import { Body, Controller, HttpException, HttpStatus, Post } from '@nestjs/common';
import { AnalyticsService } from 'nestjs-analytics';
import { Catalogue } from './catalogue.js';
import { CurrentVisitor } from './current-visitor.decorator.js';
import { type Order, orderOf, Orders } from './orders.js';
import { RequiredTextPipe } from './required-text.pipe.js';
import { ShopDatabase } from './shop-database.js';
import { Visitor } from './visitor.js';

@Controller('payments')
export class PaymentsController {
  constructor(
    private readonly analytics: AnalyticsService,
    private readonly catalogue: Catalogue,
    private readonly database: ShopDatabase,
    private readonly orders: Orders,
  ) {}

  /** Pays for an order in a transaction. If the payment fails, neither the order nor its event is stored. */
  @Post()
  async pay(
    @CurrentVisitor() visitor: Visitor,
    @Body('product', RequiredTextPipe) slug: string,
    @Body('fails') fails: unknown,
  ): Promise<Order> {
    const order = orderOf(this.catalogue.find(slug));
    await this.database.transaction(async (tx) => {
      await tx.query('INSERT INTO paid_orders VALUES ($1, $2, $3)', [order.orderId, visitor.id, slug]);
      await this.analytics.within(tx).track({
        anonymousId: visitor.id,
        userId: visitor.customer?.id,
        event: 'Order Completed',
        properties: order,
      });
      if (fails === true) {
        throw new HttpException('The payment failed, and nothing is sent.', HttpStatus.PAYMENT_REQUIRED);
      }
    });
    this.orders.add(visitor.id, order);
    return order;
  }
}

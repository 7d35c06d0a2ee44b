import { Body, Controller, Delete, NotFoundException, Param, Post } from '@nestjs/common';
import { AnalyticsService, Track } from 'nestjs-analytics';
import { Catalogue } from './catalogue.js';
import { CurrentVisitor } from './current-visitor.decorator.js';
import { type Order, Orders } from './orders.js';
import { RequiredTextPipe } from './required-text.pipe.js';
import { Visitor } from './visitor.js';

/** How long an answer waits for a queue that cannot be reached, in milliseconds. */
const PATIENCE = 2_000;

@Controller('orders')
export class OrdersController {
  constructor(
    private readonly analytics: AnalyticsService,
    private readonly catalogue: Catalogue,
    private readonly orders: Orders,
  ) {}

  /** @returns the order, and whether its event is in the queue, where a crash cannot lose it */
  @Post()
  @Track('Order Refused', {
    on: 'failure',
    when: ({ error }) => error instanceof NotFoundException,
    properties: ({ args: [, product] }) => ({ product }),
  })
  async place(
    @CurrentVisitor() visitor: Visitor,
    @Body('product', RequiredTextPipe) slug: string,
  ): Promise<Order & { recorded: boolean }> {
    const order = this.orders.place(visitor.id, this.catalogue.find(slug));
    this.analytics.track({
      anonymousId: visitor.id,
      userId: visitor.customer?.id,
      event: 'Order Completed',
      properties: order,
    });
    // A decorator records its event when the method has ended, and the batch waits in memory for a moment. That
    // suits events that may be lost. This one must not be lost, so it is in the queue before the shop answers.
    const { refused, pending } = await this.analytics.flush({ timeout: PATIENCE });
    return { ...order, recorded: refused === 0 && pending === 0 };
  }

  @Delete(':orderId')
  @Track('Order Returned', { properties: ({ result }) => result })
  takeBack(@CurrentVisitor() visitor: Visitor, @Param('orderId') orderId: string): Order {
    return this.orders.takeBack(visitor.id, orderId);
  }
}

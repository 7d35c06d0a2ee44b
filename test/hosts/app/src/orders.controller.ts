import { Controller, Param, Post } from '@nestjs/common';
import { Track } from 'nestjs-analytics';
import { OrdersService } from './orders.service.js';

@Controller('orders')
export class OrdersController {
  constructor(private readonly orders: OrdersService) {}

  @Post(':userId')
  @Track('Order Requested', {
    userId: ({ args: [userId] }) => userId,
    properties: ({ result }) => ({ total: result.total }),
  })
  create(@Param('userId') userId: string): { total: number } {
    return this.orders.complete(userId, 9);
  }
}

import { Controller, type OnApplicationShutdown, Param, Post } from '@nestjs/common';
import {
  type ClientProxy,
  ClientProxyFactory,
  MessagePattern,
  Payload,
  Transport,
} from '@nestjs/microservices';
import { Track } from 'nestjs-analytics';
import type { Observable } from 'rxjs';
import { OrdersService } from './orders.service.js';
import { TCP_PORT } from './tcp-port.js';

/** Takes orders over HTTP, and hands them to the microservice of the same application. */
@Controller('orders')
export class OrdersController implements OnApplicationShutdown {
  private readonly microservice: ClientProxy = ClientProxyFactory.create({
    transport: Transport.TCP,
    options: { port: TCP_PORT },
  });

  constructor(private readonly orders: OrdersService) {}

  @Post(':userId')
  create(@Param('userId') userId: string): Observable<unknown> {
    return this.microservice.send('order', { userId });
  }

  @MessagePattern('order')
  @Track('Order Requested', { userId: ({ args: [{ userId }] }) => userId })
  order(@Payload() { userId }: { userId: string }): { total: number } {
    return this.orders.complete(userId, 9);
  }

  onApplicationShutdown(): void {
    void this.microservice.close();
  }
}

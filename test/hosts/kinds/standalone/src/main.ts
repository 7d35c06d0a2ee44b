import { NestFactory } from '@nestjs/core';
import { DeliveriesService } from 'nestjs-analytics';
import { firstValueFrom } from 'rxjs';
import { AppModule } from './app.module.js';
import { OrdersService } from './orders.service.js';

/** Tracks one event, waits until it is delivered, and ends. */
async function script(): Promise<void> {
  const context = await NestFactory.createApplicationContext(AppModule, { logger: ['warn', 'error'] });
  const delivered = firstValueFrom(context.get(DeliveriesService).outcomes$);
  context.get(OrdersService).complete('u1', 9);
  await delivered;
  await context.close();
}
void script();

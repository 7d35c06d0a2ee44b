import { InjectQueue } from '@nestjs/bullmq';
import { Controller, Param, Post } from '@nestjs/common';
import type { Queue } from 'bullmq';
import { Track } from 'nestjs-analytics';

/** An order is complete once the job of the application's own queue has run. */
@Controller('orders')
export class OrdersController {
  constructor(@InjectQueue('mails') private readonly mails: Queue<{ userId: string }>) {}

  @Post(':userId')
  @Track('Order Requested', { userId: ({ args: [userId] }) => userId })
  async create(@Param('userId') userId: string): Promise<void> {
    await this.mails.add('confirmation', { userId });
  }
}

import { Processor, WorkerHost } from '@nestjs/bullmq';
import type { Job } from 'bullmq';
import { OrdersService } from './orders.service.js';

@Processor('mails')
export class MailsProcessor extends WorkerHost {
  constructor(private readonly orders: OrdersService) {
    super();
  }

  process(job: Job<{ userId: string }>): Promise<{ total: number }> {
    return Promise.resolve(this.orders.complete(job.data.userId, 9));
  }
}

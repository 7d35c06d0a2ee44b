import { Injectable } from '@nestjs/common';
import { AnalyticsService } from 'nestjs-analytics';

@Injectable()
export class OrdersService {
  constructor(private readonly analytics: AnalyticsService) {}

  complete(userId: string, total: number): { total: number } {
    this.analytics.track({ userId, event: 'Order Completed', properties: { total } });
    return { total };
  }
}

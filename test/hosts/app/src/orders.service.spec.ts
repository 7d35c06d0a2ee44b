import { Test } from '@nestjs/testing';
import { AnalyticsService, type TrackParams } from 'nestjs-analytics';
import { OrdersService } from './orders.service.js';

describe('OrdersService', () => {
  it('tracks an order that is complete', async () => {
    const tracked: TrackParams[] = [];
    const analytics = { track: (params: TrackParams) => tracked.push(params) };
    const module = await Test.createTestingModule({
      providers: [OrdersService, { provide: AnalyticsService, useValue: analytics }],
    }).compile();

    expect(module.get(OrdersService).complete('u1', 9)).toEqual({ total: 9 });
    expect(tracked).toEqual([{ userId: 'u1', event: 'Order Completed', properties: { total: 9 } }]);
  });
});

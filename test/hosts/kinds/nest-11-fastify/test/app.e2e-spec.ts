import type { INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { AnalyticsModule } from 'nestjs-analytics';
import { AnalyticsTestingModule, RecordedAnalytics } from 'nestjs-analytics/testing';
import { AppModule } from './../src/app.module.js';
import { createHttpAdapter } from './../src/http-adapter.js';

describe('The shop on Fastify (e2e)', () => {
  let app: INestApplication;

  beforeAll(async () => {
    const module = await Test.createTestingModule({ imports: [AppModule] })
      .overrideModule(AnalyticsModule)
      .useModule(AnalyticsTestingModule)
      .compile();
    app = module.createNestApplication(createHttpAdapter());
    await app.listen(0, '127.0.0.1');
  }, 60_000);

  afterAll(() => app.close());

  it('tracks an order', async () => {
    const answer = await fetch(`${await app.getUrl()}/orders/u1`, { method: 'POST' });
    expect(answer.status).toBe(201);
    expect(app.get(RecordedAnalytics)).toHaveTracked('Order Requested', { total: 9 });
    expect(app.get(RecordedAnalytics)).toHaveTracked('Order Completed', { total: 9 });
  });
});

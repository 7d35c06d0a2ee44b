/**
 * Serves the tracking API until it is killed. For each request to `/calls/n` it makes n calls of its own, and answers how
 * many messages are buffered then.
 */
import 'reflect-metadata';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { AnalyticsModule, AnalyticsService } from '../../../../src/index.js';

const [connection = '', writeKey = '', url = '', text = ''] = process.argv.slice(2);
const app = await NestFactory.create(
  AnalyticsModule.forRoot({
    writeKey,
    webhooks: { urls: [url], allowPrivateNetwork: true },
    connection,
    trackingApi: true,
  }),
  new ExpressAdapter(),
  { logger: false },
);
const analytics = app.get(AnalyticsService);
app.use('/calls', (request: IncomingMessage, response: ServerResponse) => {
  const count = Number(request.url?.slice(1));
  for (let n = 0; n < count; n++) {
    analytics.track({ userId: 'u1', event: 'Own', properties: { text } });
  }
  response.end(String(analytics.status().buffered.messages));
});
await app.listen(0, '127.0.0.1');
console.log(await app.getUrl());

/** Serves the tracking API on a port until it is killed, and delivers to a URL. */
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { AnalyticsModule } from '../../../../src/index.js';
import type { TestConnection } from '../../../support/describe-backend.js';

const [port = '', connection = '', writeKey = '', url = ''] = process.argv.slice(2);
const app = await NestFactory.create(
  AnalyticsModule.forRoot({
    writeKey,
    webhooks: { urls: [url], allowPrivateNetwork: true },
    connection: JSON.parse(connection) as TestConnection,
    trackingApi: true,
  }),
  new ExpressAdapter(),
  { logger: false },
);
await app.listen(Number(port), '127.0.0.1');
console.log('open');

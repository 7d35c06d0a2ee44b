/** A host that stands still for longer than a connection may be silent, like a stopped process. It prints its log. */
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AnalyticsModule, AnalyticsService } from '../../../../src/index.js';
import { Receiver } from '../../../support/receiver.js';

const [connection = ''] = process.argv.slice(2);
/** In milliseconds. */
const STANDSTILL = 13_000;

const receiver = await Receiver.start();

@Module({
  imports: [
    AnalyticsModule.forRoot({
      writeKey: 'wk_test',
      flushAt: 1,
      webhooks: { urls: [receiver.url()], allowPrivateNetwork: true },
      connection,
    }),
  ],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['warn', 'error', 'log'] });
const analytics = app.get(AnalyticsService);
analytics.track({ userId: 'u1', event: 'Before' });
await receiver.received(1);
Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STANDSTILL);
console.log('goes on');
analytics.track({ userId: 'u1', event: 'After' });
await receiver.received(2);
console.log('delivered');
process.exit();

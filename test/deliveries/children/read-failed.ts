/**
 * An application that reads the failed messages of one destination several times at once, and prints `read` with the
 * number of messages of each reading. Its arguments are the connection, the destination, and the number of readings
 * that ask for the latest messages.
 */
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AnalyticsModule, DeliveriesService } from '../../../src/index.js';

const [connection = '', destination = '', readings = ''] = process.argv.slice(2);

const options = AnalyticsModule.forRoot({
  writeKey: 'key',
  connection,
  worker: false,
  webhooks: { id: destination, urls: ['https://receiver.example'] },
});

@Module({ imports: [options] })
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'fatal'] });
const deliveries = app.get(DeliveriesService);
const latest = Array.from({ length: Number(readings) }, async (_, n) => {
  const messages = await deliveries.failed({ destination, end: 19, waiting: n % 2 === 0 });
  return messages.length;
});
const all = [deliveries.countFailed({ destination }), deliveries.replay({ destination, status: 599 })];
console.log('read', ...(await Promise.all([...latest, ...all])));
await app.close();

/** Runs an application that has loaded the package in both formats, and prints the results. */
import 'reflect-metadata';
import { createRequire } from 'node:module';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import * as esm from 'nestjs-analytics';

const order = process.argv[2];
const require = createRequire(import.meta.url);
const cjs = order === 'before' ? require('nestjs-analytics') : undefined;

class Orders {
  complete() {
    return 'done';
  }
}
const method = Object.getOwnPropertyDescriptor(Orders.prototype, 'complete');
cjs?.Track('Order Completed', { userId: 'u1' })(Orders.prototype, 'complete', method);
Object.defineProperty(Orders.prototype, 'complete', method);

const analytics = esm.AnalyticsModule.forRoot({
  writeKey: 'wk',
  webhooks: { urls: ['https://hooks.example.com/events'] },
  connection: { embedded: { dataDir: 'memory://' } },
});
class Application {}
Module({ imports: [analytics], providers: [Orders] })(Application);

const app = await NestFactory.createApplicationContext(Application, { logger: ['error'] });
if (cjs === undefined) {
  require('nestjs-analytics');
} else {
  const services = Object.keys(esm).filter((name) => /(?:Service|HealthIndicator)$/.test(name));
  for (const name of services) console.log(name, app.get(cjs[name]) === app.get(esm[name]));
  app.get(Orders).complete();
  console.log(JSON.stringify(await app.get(esm.AnalyticsService).flush()));
}
await app.close();

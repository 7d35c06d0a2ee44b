import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AnalyticsService } from 'nestjs-analytics';
import { appModule } from './app.mjs';
import { EVENT } from './events.mjs';
import { paced } from './pace.mjs';

/** Runs an application with a plain handler. If it has this module, it tracks events all the time. */
const { options, rate } = JSON.parse(process.argv[2]);

class PlainController {
  answer() {
    return 'plain';
  }
}
Controller('plain')(PlainController);
Get()(
  PlainController.prototype,
  'answer',
  Object.getOwnPropertyDescriptor(PlainController.prototype, 'answer'),
);

class Host {}
Module({ imports: options === undefined ? [] : [appModule(options)], controllers: [PlainController] })(Host);

const app = await NestFactory.create(Host, { logger: ['error'] });
await app.listen(0, '127.0.0.1');
const analytics = options === undefined ? undefined : app.get(AnalyticsService);
process.send(app.getHttpServer().address().port);

process.once('disconnect', () => process.exit());
let isStopping = false;
process.once('message', () => {
  isStopping = true;
  void app.close().then(() => process.exit());
});
// Without the module, the same loop runs and tracks nothing.
await paced({ perMillisecond: rate / 1000, atOnce: 100 }, () => {
  if (!isStopping) analytics?.track(EVENT);
});

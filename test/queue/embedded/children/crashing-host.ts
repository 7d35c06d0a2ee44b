/**
 * A host with jobs that wait in an embedded queue, whose database crashes. The host prints its log, and
 * `answers at <URL>` if its timers fire afterwards.
 */
import 'reflect-metadata';
import { setTimeout as pause } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ANALYTICS_QUEUES, AnalyticsModule } from '../../../../src/index.js';
import { BATCH_JOB_VERSION, JOB_NAME } from '../../../../src/queue/batch-job.js';
import type { BatchJobQueue } from '../../../../src/queue/queue-backend.js';
import { Receiver } from '../../../support/receiver.js';

const [dataDir = ''] = process.argv.slice(2);
/** Many more jobs than this host has in hand at once. */
const JOBS = 300;

/** The latest thread, since on some versions of Node, the TypeScript loader has a thread too. */
let latestThread: Worker | undefined;
process.on('worker', (thread) => {
  latestThread = thread;
});
let answer: (status: number) => void = () => undefined;
const answered = new Promise<number>((resolve) => {
  answer = resolve;
});
const receiver = await Receiver.start({
  answer: ({ method }) => (method === 'POST' ? answered : 200),
});

@Module({
  imports: [
    AnalyticsModule.forRoot({
      writeKey: 'wk_test',
      webhooks: { id: 'crm', urls: [receiver.url()], allowPrivateNetwork: true },
      connection: { embedded: { dataDir } },
      concurrency: 1,
      shutdownTimeout: 1_000,
    }),
  ],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule);
app.enableShutdownHooks();
const [queue] = app.get<readonly BatchJobQueue[]>(ANALYTICS_QUEUES);
const jobs = Array.from({ length: JOBS }, (_, n) => {
  const messages = [{ id: `m${n}`, body: '{"type":"track"}', outcomes: [] }];
  return {
    name: JOB_NAME,
    data: { v: BATCH_JOB_VERSION, batches: [{ destination: 'crm', source: 'default', messages }] },
  };
});
await queue?.addBulk(jobs);
await receiver.received(1);
await latestThread?.terminate();
answer(200);
await pause(1_000);
console.log(`answers at ${receiver.url()}`);

import 'reflect-metadata';
import { createHmac, randomUUID } from 'node:crypto';
import { Agent } from 'node:http';
import { HttpModule, HttpService } from '@nestjs/axios';
import { BullModule, getQueueToken, Processor, WorkerHost } from '@nestjs/bullmq';
import { Inject, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { firstValueFrom } from 'rxjs';
import { settled, startAnalytics } from './support/analytics-app.mjs';
import { BURST, createMessage, EVENT, inBursts } from './support/events.mjs';
import { measure } from './support/measure.mjs';
import { report, show } from './support/report.mjs';
import { startReceiver } from './support/receiver.mjs';

/**
 * Delivery through Redis, compared with the usual Nest way: one BullMQ job for each event, whose processor signs the
 * event and posts it with HttpService. Both send the same events in one process to one URL over as many connections.
 */
const EVENTS = 10_000;
const RUNS = 5;
const CONNECTIONS = 64;
const SECRET = 'secret';
const REDIS_URL = process.env.REDIS_URL ?? 'redis://127.0.0.1:6379/12';
const TARGET = 5;

class WebhookProcessor extends WorkerHost {
  constructor(http) {
    super();
    this.http = http;
  }

  async process({ data: { url, message } }) {
    const body = JSON.stringify(message);
    const headers = {
      'Content-Type': 'application/json',
      'Accept-Encoding': 'identity',
      'webhook-id': message.messageId,
      'X-Signature': createHmac('sha1', SECRET).update(body).digest('hex'),
    };
    await firstValueFrom(this.http.post(url, body, { headers }));
  }
}
Processor('webhooks', { concurrency: CONNECTIONS })(WebhookProcessor);
Inject(HttpService)(WebhookProcessor, undefined, 0);

class WebhooksModule {}
Module({
  imports: [
    BullModule.forRoot({ connection: { url: REDIS_URL } }),
    BullModule.registerQueue({
      name: 'webhooks',
      defaultJobOptions: {
        attempts: 10,
        backoff: { type: 'exponential', delay: 1_000 },
        removeOnComplete: true,
      },
    }),
    HttpModule.register({
      timeout: 5_000,
      httpAgent: new Agent({ keepAlive: true, maxSockets: CONNECTIONS }),
    }),
  ],
  providers: [WebhookProcessor],
})(WebhooksModule);

const receiver = await startReceiver();
const [url] = receiver.urls;
const module = await startAnalytics({
  connection: REDIS_URL,
  connections: CONNECTIONS,
  webhooks: { urls: receiver.urls, sharedSecret: SECRET, allowPrivateNetwork: true },
});
const app = await NestFactory.createApplicationContext(WebhooksModule, { logger: ['error'] });
const queue = app.get(getQueueToken('webhooks'));
await queue.obliterate({ force: true });
const jobOf = () => ({ name: 'event', data: { url, message: createMessage(randomUUID()) } });

/** Ways to send the events. `settle` resolves when the queue has nothing left to do. */
const ways = [
  {
    way: 'this module',
    settle: module.settled,
    send: () => inBursts(EVENTS, () => module.analytics.track(EVENT)),
  },
  {
    way: 'a job an event, add()',
    settle: () => settled(queue),
    send: () =>
      inBursts(EVENTS, () => {
        const { name, data } = jobOf();
        void queue.add(name, data);
      }),
  },
  {
    way: 'a job an event, addBulk() of 100',
    settle: () => settled(queue),
    send: async () => {
      for (let sent = 0; sent < EVENTS; sent += BURST) {
        await queue.addBulk(Array.from({ length: BURST }, jobOf));
      }
    },
  },
];

async function run({ send, settle }) {
  await receiver.reset();
  const deliver = async () => {
    const done = receiver.received(EVENTS);
    await send();
    await done;
  };
  return measure(EVENTS, deliver, settle);
}

const runs = [];
// They take turns, so that a busy moment of the machine affects all of them. The first round warms up.
for (let round = 0; round <= RUNS; round++) {
  const results = [];
  for (const way of ways) results.push(await run(way));
  if (round > 0) runs.push(results);
}
await queue.obliterate({ force: true });
await app.close();
await module.stop();
receiver.stop();
report(
  'This module against one BullMQ job an event with HttpService, on Redis, one process, one URL',
  ways.map(({ way }, index) => ({
    way,
    'events/s': show(
      runs.map((results) => results[index].rate),
      0,
    ),
    'CPU an event, µs': show(
      runs.map((results) => results[index].cpu),
      0,
    ),
    'this module / it': index === 0 ? '' : show(runs.map((results) => results[0].rate / results[index].rate)),
    target: index === 0 ? '' : `≥ ${TARGET}`,
  })),
);

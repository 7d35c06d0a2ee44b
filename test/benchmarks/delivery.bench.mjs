import 'reflect-metadata';
import { createHmac } from 'node:crypto';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AnalyticsModule, AnalyticsService } from 'nestjs-analytics';
import { Pool } from 'undici';
import { report, show } from './support/report.mjs';
import { startReceiver } from './support/receiver.mjs';

/** Delivery end to end against a bare HTTP client that signs and posts the same bytes to the same receiver. */
const EVENTS = 20_000;
const RUNS = 5;
const CONNECTIONS = 64;
const PROPERTIES = { sku: 'x'.repeat(100), revenue: 39.95, currency: 'EUR' };
const QUEUES = {
  Redis: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379/15',
  PostgreSQL: process.env.POSTGRES_URL ?? 'postgres://postgres@127.0.0.1:5432/test',
  embedded: { embedded: { dataDir: 'memory://' } },
};

async function measure(work) {
  const cpu = process.cpuUsage();
  const start = performance.now();
  await work();
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  return { rate: EVENTS / seconds, cpu: (user + system) / EVENTS };
}

async function bare(receiver, body) {
  const { origin, pathname: path } = new URL(receiver.urls[0]);
  const pool = new Pool(origin, { connections: CONNECTIONS, pipelining: 1 });
  await receiver.reset();
  const result = await measure(async () => {
    let left = EVENTS;
    const post = async () => {
      while (left-- > 0) {
        const signature = createHmac('sha1', 'secret').update(body).digest('hex');
        const headers = ['content-type', 'application/json', 'webhook-id', 'id', 'x-signature', signature];
        const response = await pool.request({ path, method: 'POST', headers, body });
        await response.body.dump();
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, post));
  });
  await pool.close();
  return result;
}

async function ours(receiver, analytics) {
  await receiver.reset();
  return measure(async () => {
    const done = receiver.received(EVENTS);
    for (let i = 0; i < EVENTS; i++) {
      analytics.track({ userId: 'u1', event: 'Order Completed', properties: PROPERTIES });
      // In bursts, as a busy server takes them.
      if (i % 100 === 99) await new Promise((resolve) => setImmediate(resolve));
    }
    await done;
  });
}

const receiver = await startReceiver();
const body = JSON.stringify({
  version: 1,
  type: 'track',
  userId: 'u1',
  event: 'Order Completed',
  properties: PROPERTIES,
  context: { library: { name: 'nestjs-analytics', version: '0.1.0' } },
  messageId: '0ba08c0c-09b5-4b0c-b37f-8a0f9a9e4f0d',
  timestamp: new Date().toISOString(),
});
const rows = [];
for (const [queue, connection] of Object.entries(QUEUES)) {
  class App {}
  Module({
    imports: [
      AnalyticsModule.forRoot({
        writeKey: 'bench',
        connection,
        connections: CONNECTIONS,
        webhooks: { urls: receiver.urls, sharedSecret: 'secret', allowPrivateNetwork: true },
      }),
    ],
  })(App);
  const app = await NestFactory.createApplicationContext(App, { logger: ['error', 'warn'] });
  const analytics = app.get(AnalyticsService);
  await bare(receiver, body);
  await ours(receiver, analytics);
  const runs = [];
  for (let run = 0; run < RUNS; run++) {
    const limit = await bare(receiver, body);
    const mine = await ours(receiver, analytics);
    runs.push({
      throughput: mine.rate / limit.rate,
      cpu: mine.cpu / limit.cpu,
      rate: mine.rate,
      limit: limit.rate,
    });
  }
  rows.push({
    queue,
    'throughput / bare pool': show(runs.map((run) => run.throughput)),
    'CPU an event / bare pool': show(runs.map((run) => run.cpu)),
    'events/s': show(
      runs.map((run) => run.rate),
      0,
    ),
    'bare requests/s': show(
      runs.map((run) => run.limit),
      0,
    ),
  });
  await app.close();
}
receiver.stop();
report('Delivery, one process, one URL, flushAt 20', rows);

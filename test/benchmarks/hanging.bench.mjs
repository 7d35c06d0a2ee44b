import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { getQueueToken } from '@nestjs/bullmq';
import { ANALYTICS_QUEUE, AnalyticsModule, AnalyticsService, DeliveriesService } from 'nestjs-analytics';
import { report, show, spread } from './support/report.mjs';
import { startReceiver } from './support/receiver.mjs';

/** Ten destinations, each with a source of its own, two of which hang, compared with ten that all answer. */
const DESTINATIONS = 10;
const HANGING = 2;
const EVENTS = 1_000;
const RUNS = 3;
/** Milliseconds between bursts of 10 events for each destination. Deliveries keep up, so no backlog grows. */
const PAUSE = 20;
const CONNECTION = process.env.REDIS_URL ?? 'redis://127.0.0.1:6379/14';
const FOR_EVER = 2 ** 31 - 1;

function open(urls, worker) {
  class App {}
  Module({
    imports: [
      AnalyticsModule.forRoot({
        sources: urls.map((_, index) => ({ name: `s${index}`, writeKey: `k${index}` })),
        connection: CONNECTION,
        worker,
        shutdownTimeout: 1_000,
        webhooks: urls.map((url, index) => ({
          id: `d${index}`,
          urls: [url],
          sources: [`s${index}`],
          allowPrivateNetwork: true,
        })),
      }),
    ],
  })(App);
  return NestFactory.createApplicationContext(App, { logger: ['error'] });
}

/** Removes what the previous run left for the destinations that hang. */
async function clear(urls) {
  const app = await open(urls, false);
  await app.get(getQueueToken(ANALYTICS_QUEUE)).obliterate({ force: true });
  await app.close();
}

/** Resolves to events a second of those that answer, and their 99th percentile from call to answer in milliseconds. */
async function run(living, hanging) {
  const urls = [...hanging.urls.slice(0, hanging.hangs), ...living.urls.slice(hanging.hangs)];
  await clear(urls);
  const app = await open(urls, true);
  const analytics = app.get(AnalyticsService);
  const sources = urls.map((_, index) => analytics.source(`s${index}`));
  const total = EVENTS * (DESTINATIONS - hanging.hangs);
  const took = new Map();
  const latencies = [];
  const finished = new Promise((resolve) => {
    app.get(DeliveriesService).outcomes$.subscribe(({ messageId, class: result }) => {
      if (result !== 'delivered') return;
      latencies.push(performance.now() - took.get(messageId));
      if (latencies.length === total) resolve();
    });
  });
  const start = performance.now();
  for (let event = 0; event < EVENTS; event++) {
    for (const source of sources) took.set(source.track({ userId: 'u1', event: 'Paced' }), performance.now());
    if (event % 10 === 9) await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
  await finished;
  const rate = total / ((performance.now() - start) / 1000);
  await app.close();
  latencies.sort((a, b) => a - b);
  return { rate, p99: latencies[Math.floor(latencies.length * 0.99)] };
}

const living = await startReceiver({ ports: DESTINATIONS });
const hanging = await startReceiver({ ports: DESTINATIONS, delay: FOR_EVER });
// The compiler takes most of the time of the first run.
await run(living, { urls: hanging.urls, hangs: 0 });
const runs = [];
for (let round = 0; round < RUNS; round++) {
  const all = await run(living, { urls: hanging.urls, hangs: 0 });
  const eight = await run(living, { urls: hanging.urls, hangs: HANGING });
  const share = (DESTINATIONS - HANGING) / DESTINATIONS;
  runs.push({
    throughput: eight.rate / (all.rate * share),
    p99: eight.p99 / all.p99,
    all: all.p99,
    eight: eight.p99,
  });
}
living.stop();
hanging.stop();
report('Ten destinations of which two hang, paced, on Redis', [
  {
    'throughput of the others / all living': show(runs.map((one) => one.throughput)),
    'their 99th percentile / all living': show(runs.map((one) => one.p99)),
    '99th percentile, ms': `${spread(runs.map((one) => one.eight)).median.toFixed(0)} / ${spread(runs.map((one) => one.all)).median.toFixed(0)}`,
  },
]);

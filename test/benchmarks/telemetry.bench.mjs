import { NestFactory } from '@nestjs/core';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { context, metrics, ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base';
import { getQueueToken } from '@nestjs/bullmq';
import { Redis } from 'ioredis';
import { ANALYTICS_QUEUE, AnalyticsService } from 'nestjs-analytics';
import { settled } from './support/analytics-app.mjs';
import { appModule } from './support/app.mjs';
import { inChild, task, tell } from './support/child.mjs';
import { BURST, EVENT } from './support/events.mjs';
import { measure } from './support/measure.mjs';
import { startReceiver } from './support/receiver.mjs';
import { report, show } from './support/report.mjs';
import { reportTargets, target } from './support/targets.mjs';

/**
 * What observability costs: a call and a delivery with OpenTelemetry's SDK, and with a console that nobody has open,
 * each compared with the same application without them. Two applications that have neither show the noise. An SDK also
 * needs a context that follows promises, for which Node makes each promise of an application slower. So this module
 * with an SDK is compared with an application that has such a context. The benchmark's own spans, one for each burst of
 * calls, cost something as well. So with traces, this module is compared with an application whose SDK makes only those
 * spans. What the SDK itself takes for two histograms and a span of each delivery is shown by applications that record
 * only these, where this module does not.
 */
const ROUNDS = Number(process.argv.find((argument) => argument.startsWith('--rounds='))?.slice(9) ?? 10);
const CALLS = 100_000;
const EVENTS = 20_000;
/** Measured runs of a process that is warm. The best one counts, since a disturbance only makes a run slower. */
const RUNS = 3;
const CONNECTIONS = 64;
const COLLECTION_INTERVAL = 1_000;
const REDIS = process.env.REDIS_URL ?? 'redis://127.0.0.1:6379/15';

const BARE = 'without either';
const CONTEXT = 'a context alone';
const METRICS = 'an SDK for metrics';
const ALL_TRACES = 'one for all traces, too';
const TENTH = 'one for a tenth of the traces, too';
const OWN_TENTH = "a tenth of the application's own spans";
const OWN_SPANS = "the application's own spans";
const SIGNALS = ['metrics', 'traces'];
const SDKS = {
  [METRICS]: { hasContext: true, signals: ['metrics'] },
  [TENTH]: { hasContext: true, signals: SIGNALS, share: 0.1 },
  [ALL_TRACES]: { hasContext: true, signals: SIGNALS, share: 1 },
};
/** The case that each of these is compared with. */
const BASES = { [METRICS]: CONTEXT, [TENTH]: OWN_TENTH, [ALL_TRACES]: OWN_SPANS };
const BARE_RECORDS = 'an SDK, and two bare records';
const BARE_SPANS = 'an SDK for metrics, and bare spans';
const CASES = {
  [BARE]: {},
  'the same again': {},
  'a console': { hasConsole: true },
  [CONTEXT]: { hasContext: true },
  [OWN_TENTH]: { hasContext: true, lateSignals: SIGNALS, share: 0.1 },
  [OWN_SPANS]: { hasContext: true, lateSignals: SIGNALS, share: 1 },
  ...SDKS,
  [BARE_RECORDS]: { hasContext: true, lateSignals: ['metrics'], hasBareRecords: true },
  [BARE_SPANS]: {
    hasContext: true,
    signals: ['metrics'],
    lateSignals: ['traces'],
    share: 1,
    hasBareSpans: true,
  },
};

/** Registers SDKs that do everything but send. */
const REGISTER = {
  metrics: () => {
    const reader = new PeriodicExportingMetricReader({
      exporter: new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE),
      exportIntervalMillis: COLLECTION_INTERVAL,
      exportTimeoutMillis: COLLECTION_INTERVAL,
    });
    metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
  },
  traces: (share) => {
    const sampler = new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(share) });
    const exporter = { export: (_spans, done) => done({ code: 0 }), shutdown: () => Promise.resolve() };
    const spanProcessors = [new BatchSpanProcessor(exporter)];
    trace.setGlobalTracerProvider(new BasicTracerProvider({ sampler, spanProcessors }));
  },
};

/** Does the least that an application can do to trace each delivery of a call. */
function bareSpan() {
  const call = trace.getSpanContext(context.active());
  const attributes = {
    'nestjs_analytics.destination': 'webhooks',
    'http.request.method': 'POST',
    'server.address': '127.0.0.1',
    'server.port': 80,
  };
  const parent = trace.setSpanContext(ROOT_CONTEXT, { ...call, isRemote: true });
  const options = { kind: SpanKind.CLIENT, links: [{ context: call }], attributes };
  const span = trace.getTracer('bare').startSpan('deliver', options, parent);
  span.setAttribute('http.response.status_code', 200);
  span.end();
}

/** Returns the least that an application can do to measure each delivery of a call as this module does. */
function bareRecords() {
  const meter = metrics.getMeter('bare');
  const duration = meter.createHistogram('duration');
  const latency = meter.createHistogram('latency');
  return () => {
    duration.record(Math.random() / 100, { destination: 'webhooks', class: 'delivered' });
    latency.record(Math.random() / 10, { destination: 'webhooks' });
  };
}

/** Makes calls as requests make them: a burst of them in a span of its own, then the event loop turns. */
async function inRequests(count, call) {
  const tracer = trace.getTracer('bench');
  for (let made = 0; made < count; made += BURST) {
    tracer.startActiveSpan('POST /orders', (span) => {
      for (let n = 0; n < BURST; n++) call();
      span.end();
    });
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** @param register called when the application has started: this module does not use an SDK that comes so late */
async function open({ worker, urls, hasConsole, register }) {
  const app = await NestFactory.create(
    appModule({
      connection: REDIS,
      worker,
      connections: CONNECTIONS,
      webhooks: {
        urls,
        sharedSecret: 'secret',
        allowPrivateNetwork: true,
        backlogLimit: Number.MAX_SAFE_INTEGER,
      },
      destinations: { encryptionKey: false },
      ...(hasConsole && { console: { authorize: () => ({ operator: true }) } }),
    }),
    { logger: ['error'] },
  );
  await app.listen(0, '127.0.0.1');
  const queue = app.get(getQueueToken(ANALYTICS_QUEUE));
  await queue.obliterate({ force: true });
  register();
  return { app, queue, analytics: app.get(AnalyticsService) };
}

async function bestOf(run) {
  await run();
  const runs = [];
  for (let n = 0; n < RUNS; n++) runs.push(await run());
  return { rate: Math.max(...runs.map(({ rate }) => rate)), cpu: Math.min(...runs.map(({ cpu }) => cpu)) };
}

async function track({ hasConsole, register }) {
  const urls = ['https://hooks.example.com/'];
  const { app, queue, analytics } = await open({ worker: false, urls, hasConsole, register });
  const best = await bestOf(async () => {
    const measured = await measure(CALLS, () => inRequests(CALLS, () => analytics.track(EVENT)));
    const { refused } = await analytics.flush();
    if (refused > 0) throw new Error(`${refused} calls were refused`);
    await queue.obliterate({ force: true });
    return measured;
  });
  await app.close();
  return best;
}

async function deliver({ hasConsole, hasBareSpans, hasBareRecords, register }) {
  const receiver = await startReceiver();
  const { urls } = receiver;
  const { app, queue, analytics } = await open({ worker: true, urls, hasConsole, register });
  const recordBare = hasBareSpans ? bareSpan : hasBareRecords ? bareRecords() : () => undefined;
  const call = () => (recordBare(), analytics.track(EVENT));
  const best = await bestOf(async () => {
    await receiver.reset();
    const deliveries = async () => {
      const done = receiver.received(EVENTS);
      await inRequests(EVENTS, call);
      await done;
    };
    return measure(EVENTS, deliveries, () => settled(queue));
  });
  await queue.obliterate({ force: true });
  await app.close();
  receiver.stop();
  return best;
}

async function measureCase({ work, signals = [], lateSignals = [], share, hasContext, ...rest }) {
  if (hasContext) context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const registerAll = (all) => all.forEach((signal) => REGISTER[signal](share));
  registerAll(signals);
  const scene = { ...rest, register: () => registerAll(lateSignals) };
  return work === 'track' ? track(scene) : deliver(scene);
}

/** Resets the backlog, which still includes what was cleared without a worker: later calls would be refused. */
async function clearBacklog() {
  const redis = new Redis(REDIS);
  await redis.del('{nestjs-analytics}:backlog');
  await redis.quit();
}

/** Returns the cases for this work. Calls alone make no request to measure or trace. */
function casesOf(work) {
  return Object.keys(CASES).filter((name) => work !== 'track' || ![BARE_RECORDS, BARE_SPANS].includes(name));
}

/** Runs each case in a process of its own, in turn. Each round begins with another case. */
async function bench() {
  const results = { track: [], delivery: [] };
  for (let round = 0; round < ROUNDS; round++) {
    for (const [work, rounds] of Object.entries(results)) {
      const names = casesOf(work);
      const measured = {};
      const order = names.map((_, index) => names[(index + round) % names.length]);
      for (const name of order) measured[name] = await inChild(import.meta.url, { work, ...CASES[name] });
      rounds.push(measured);
      await clearBacklog();
    }
  }
  const targets = [];
  for (const [work, rounds] of Object.entries(results)) {
    const ratios = (name, figure, against = BARE) =>
      rounds.map((round) => round[name][figure] / round[against][figure]);
    report(
      work === 'track' ? 'A call of a burst' : 'Delivery on Redis, one process, one URL',
      casesOf(work).map((name) => ({
        application: name,
        'throughput / without': show(ratios(name, 'rate')),
        'CPU an event / without': show(ratios(name, 'cpu')),
        'events/s': show(
          rounds.map((round) => round[name].rate),
          0,
        ),
        'µs of CPU an event': show(rounds.map((round) => round[name].cpu)),
      })),
    );
    targets.push(
      target(`${work}: CPU with a console / without`, ratios('a console', 'cpu'), { most: 1.05 }),
      ...Object.entries(BASES).flatMap(([name, base]) => [
        target(`${work}: CPU, ${name} / ${base}`, ratios(name, 'cpu', base), { most: 1.1 }),
        target(`${work}: throughput, ${name} / ${base}`, ratios(name, 'rate', base), { least: 0.9 }),
      ]),
    );
  }
  const ofRecords = results.delivery.map((round) => round[METRICS].cpu / round[BARE_RECORDS].cpu);
  targets.push(target(`delivery: CPU, ${METRICS} / bare records`, ofRecords, { most: 1.1 }));
  const ofSpans = results.delivery.map((round) => round[ALL_TRACES].cpu / round[BARE_SPANS].cpu);
  targets.push(target(`delivery: CPU, ${ALL_TRACES} / bare spans`, ofSpans, { most: 1.1 }));
  reportTargets(targets);
}

if (task === undefined) await bench();
else tell(await measureCase(task));

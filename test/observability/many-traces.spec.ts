import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { context, metrics, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, BatchSpanProcessor, InMemorySpanExporter } from '@opentelemetry/sdk-trace-base';
import { DestinationsService } from '../../src/index.js';
import { quickConnections } from '../support/quick-connections.js';
import { Stage, webhooksTo } from '../support/stage.js';

const newConnection = quickConnections();

/** Time that a collector takes to store a batch of spans, in milliseconds. */
const EXPORT_TIME = 250;

class SlowExporter extends InMemorySpanExporter {
  override export(...args: Parameters<InMemorySpanExporter['export']>): void {
    setTimeout(() => {
      super.export(...args);
    }, EXPORT_TIME);
  }
}

const exporter = new SlowExporter();
/** The processor with the SDK's defaults: it queues 2,048 spans and drops further spans. */
const processor = new BatchSpanProcessor(exporter);

class Reader extends MetricReader {
  protected override onForceFlush(): Promise<void> {
    return Promise.resolve();
  }

  protected override onShutdown(): Promise<void> {
    return Promise.resolve();
  }
}

const reader = new Reader();

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [processor] }));
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
});

afterEach(async () => {
  jest.restoreAllMocks();
  await processor.forceFlush();
  exporter.reset();
});

afterAll(() => {
  trace.disable();
  context.disable();
  metrics.disable();
});

/** Makes one second of the limit last for a minute, so that all of a test happens within it. */
function slowTime(): void {
  const now = performance.now.bind(performance);
  const start = now();
  jest.spyOn(performance, 'now').mockImplementation(() => start + (now() - start) / 60);
}

/** Resolves to the names of the exported spans that start with this text. */
async function spans(start: string): Promise<string[]> {
  await processor.forceFlush();
  const names = exporter.getFinishedSpans().map(({ name }) => name);
  return names.filter((name) => name.startsWith(start));
}

async function untraced(): Promise<unknown> {
  const { resourceMetrics } = await reader.collect();
  const found = resourceMetrics.scopeMetrics
    .flatMap((scope) => scope.metrics)
    .find(({ descriptor }) => descriptor.name === 'nestjs_analytics.delivery.untraced');
  return found?.dataPoints[0]?.value;
}

function inSpan(calls: () => void): { traceId: string; spanId: string } {
  return trace.getTracer('shop').startActiveSpan('POST /orders', (span) => {
    calls();
    span.end();
    return span.spanContext();
  });
}

describe('more deliveries than an SDK can export', () => {
  const stage = new Stage();

  it('do not crowd out the spans of the application', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({ connection: await newConnection(), webhooks: webhooksTo(receiver) });
    await app.queue.pause();
    inSpan(() => {
      for (let n = 0; n < 6_000; n++) app.analytics.track({ userId: `u${n}`, event: 'Paid' });
    });
    await app.analytics.flush();
    await app.queue.resume();
    const delivered = receiver.received(6_000).then(() => true);
    let requests = 0;
    while (!(await Promise.race([delivered, sleep(10)]))) {
      trace.getTracer('shop').startSpan(`GET /orders/${requests++}`).end();
    }
    expect(requests).toBeGreaterThan(10);
    expect(await spans('GET')).toHaveLength(requests);
    expect(await spans('deliver')).not.toHaveLength(0);
  });

  it('are logged once and counted, and send the span of the call to their receivers', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: webhooksTo(receiver),
      tracing: { propagate: true, spansPerSecond: 10 },
    });
    const { traceId, spanId } = inSpan(() => {
      for (let n = 0; n < 200; n++) app.analytics.track({ userId: `u${n}`, event: 'Paid' });
    });
    await app.analytics.flush();
    const requests = await receiver.received(200);
    await app.settled();
    const deliveries = await spans('deliver');
    expect(deliveries.length).toBeGreaterThanOrEqual(5);
    expect(await untraced()).toBe(200 - deliveries.length);
    const parents = requests.map(({ headers }) => headers.traceparent);
    const ofCall = parents.filter((parent) => parent === `00-${traceId}-${spanId}-01`);
    expect(ofCall).toHaveLength(200 - deliveries.length);
    expect(app.log.analytics.filter((line) => line.includes('spansPerSecond'))).toEqual([
      'warn: More requests needed a span than `tracing.spansPerSecond` (10) allows; one destination or tenant gets at ' +
        'most half of these spans. The other requests have none; the metric nestjs_analytics.delivery.untraced counts them.',
    ]);
  });

  it('leave spans for the deliveries of another destination', async () => {
    slowTime();
    const [busy, quiet] = [await stage.receiver(), await stage.receiver()];
    const app = await stage.app({
      connection: await newConnection(),
      sources: [
        { name: 'busy', writeKey: 'k1' },
        { name: 'quiet', writeKey: 'k2' },
      ],
      webhooks: [
        webhooksTo(busy, { id: 'busy', sources: ['busy'] }),
        webhooksTo(quiet, { id: 'quiet', sources: ['quiet'] }),
      ],
      tracing: { spansPerSecond: 10 },
    });
    const track = (source: string, count: number): Promise<unknown> => {
      inSpan(() => {
        for (let n = 0; n < count; n++)
          app.analytics.source(source).track({ userId: `u${n}`, event: 'Paid' });
      });
      return app.analytics.flush();
    };
    await track('busy', 200);
    await busy.received(100);
    await track('quiet', 3);
    await quiet.received(3);
    await app.settled();
    expect(await spans('deliver quiet')).toHaveLength(3);
  });

  it('leave spans for the deliveries of another tenant, however many destinations the busy tenant has', async () => {
    slowTime();
    const [busy, quiet] = [await stage.receiver(), await stage.receiver()];
    const app = await stage.app({
      connection: await newConnection(),
      destinations: { encryptionKey: false, allowPrivateNetwork: true, limitPerTenant: 20 },
      metrics: { eachDestination: true },
      tracing: { spansPerSecond: 10 },
    });
    const destinations = app.context.get(DestinationsService);
    for (let n = 0; n < 20; n++) await destinations.create({ tenant: 'busy', urls: [busy.url(`/${n}`)] });
    const { id } = await destinations.create({ tenant: 'quiet', urls: [quiet.url()] });
    const track = (tenant: string, count: number): Promise<unknown> => {
      inSpan(() => {
        for (let n = 0; n < count; n++)
          app.analytics.tenant(tenant).track({ userId: `u${n}`, event: 'Paid' });
      });
      return app.analytics.flush();
    };
    await track('busy', 10);
    await busy.received(100);
    await track('quiet', 3);
    await quiet.received(3);
    await app.settled();
    expect(await spans(`deliver ${id}`)).toHaveLength(3);
  });

  it('have no spans and no log line if the limit is 0', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: webhooksTo(receiver),
      tracing: { propagate: true, spansPerSecond: 0 },
    });
    const { traceId, spanId } = inSpan(() => app.analytics.track({ userId: 'u1', event: 'Paid' }));
    await app.analytics.flush();
    const [request] = await receiver.received(1);
    await app.settled();
    expect(request?.headers.traceparent).toBe(`00-${traceId}-${spanId}-01`);
    expect(await spans('deliver')).toEqual([]);
    expect(app.log.analytics.filter((line) => line.includes('spansPerSecond'))).toEqual([]);
  });
});

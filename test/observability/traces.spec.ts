import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { PGlite } from '@electric-sql/pglite';
import { context, SpanKind, SpanStatusCode, trace, TraceFlags } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { GuardedChild } from '../support/child-process.js';
import { describeServers } from '../support/describe-backend.js';
import { quickConnections } from '../support/quick-connections.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';

const newConnection = quickConnections();

const PRODUCER = new URL('./children/traced-producer.ts', import.meta.url);

const exporter = new InMemorySpanExporter();

/** A span processor of the application. */
class ApplicationProcessor implements SpanProcessor {
  throwsIn: 'onStart' | 'onEnd' | undefined;

  onStart(): void {
    this.call('onStart');
  }

  onEnd(): void {
    this.call('onEnd');
  }

  forceFlush(): Promise<void> {
    return Promise.resolve();
  }

  shutdown(): Promise<void> {
    return Promise.resolve();
  }

  private call(method: 'onStart' | 'onEnd'): void {
    if (method === this.throwsIn) throw new TypeError('it expects another attribute');
  }
}

const processor = new ApplicationProcessor();

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter), processor] }),
  );
});

afterEach(() => {
  exporter.reset();
  processor.throwsIn = undefined;
});

afterAll(() => {
  trace.disable();
  context.disable();
});

function spansOf(count: number): Promise<ReadableSpan[]> {
  return until(() => {
    const spans = exporter.getFinishedSpans();
    return spans.length >= count ? spans : undefined;
  });
}

/** Makes the calls in a span. Returns the ids of the span. */
function inSpan(calls: () => void): { traceId: string; spanId: string } {
  return trace.getTracer('shop').startActiveSpan('POST /orders', (span) => {
    calls();
    return span.spanContext();
  });
}

describeServers('a trace', (backend) => {
  const stage = new Stage();

  it('extends from a request in one process through the queue and another process to the receiver', async () => {
    const receiver = await stage.receiver();
    const { connection } = backend;
    const webhooks = webhooksTo(receiver, { id: 'crm' });
    const argument = JSON.stringify({ connection, webhooks });
    const child = await GuardedChild.startScript(PRODUCER, [argument]);
    const port = (await child.waitFor(/^port/)).replace('port ', '');
    const response = await fetch(`http://127.0.0.1:${port}/orders`, { method: 'POST' });
    const { traceId, spanId } = (await response.json()) as { traceId: string; spanId: string };
    await child.stop('SIGTERM');

    await stage.app({ connection, webhooks, tracing: { propagate: true } });
    const [request] = await receiver.received(1);
    const [span] = await spansOf(1);
    expect(span?.spanContext().traceId).toBe(traceId);
    expect(span?.parentSpanContext?.spanId).toBe(spanId);
    expect(span?.links.map((link) => link.context.spanId)).toEqual([spanId]);
    expect(request?.headers.traceparent).toBe(`00-${traceId}-${span?.spanContext().spanId ?? ''}-01`);
    expect(request?.body.toString()).not.toContain(traceId);
  });
});

describe('the span of a delivery', () => {
  const stage = new Stage();

  it('is made for every attempt, and shows how the attempt ended', async () => {
    const receiver = await stage.receiver({ answer: [503, 200] });
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: webhooksTo(receiver, { id: 'crm', retryWindow: 4_000 }),
    });
    const { traceId } = inSpan(() => app.analytics.track({ userId: 'u1', event: 'Paid' }));
    await app.analytics.flush();
    const [first, second] = await spansOf(2);
    const common = { 'http.request.method': 'POST', 'server.port': receiver.port };
    expect(first).toMatchObject({
      name: 'deliver crm',
      kind: SpanKind.CLIENT,
      status: { code: SpanStatusCode.ERROR },
      attributes: { ...common, 'http.response.status_code': 503, 'error.type': '503' },
    });
    expect(second).toMatchObject({
      status: { code: SpanStatusCode.UNSET },
      attributes: { ...common, 'http.response.status_code': 200, 'http.request.resend_count': 1 },
    });
    expect([first, second].map((span) => span?.spanContext().traceId)).toEqual([traceId, traceId]);
    for (const { headers } of receiver.requests) expect(headers).not.toHaveProperty('traceparent');
  });

  it('replaces a `traceparent` among the static headers', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: webhooksTo(receiver, { headers: { Traceparent: 'mine', 'X-Shop': 'traceparent' } }),
      tracing: { propagate: true },
    });
    const { traceId } = inSpan(() => app.analytics.track({ userId: 'u1', event: 'Paid' }));
    await app.analytics.flush();
    const [request] = await receiver.received(1);
    expect(request?.headers.traceparent).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`));
    expect(request?.headers['x-shop']).toBe('traceparent');
  });

  it('is not made for a call whose trace is not sampled, which the `traceparent` tells receivers', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: webhooksTo(receiver),
      tracing: { propagate: true },
    });
    const [traceId, spanId] = ['a'.repeat(32), 'b'.repeat(16)];
    const unsampled = trace.wrapSpanContext({ traceId, spanId, traceFlags: TraceFlags.NONE });
    context.with(trace.setSpan(context.active(), unsampled), () =>
      app.analytics.track({ userId: 'u1', event: 'Paid' }),
    );
    await app.analytics.flush();
    const [request] = await receiver.received(1);
    expect(request?.headers.traceparent).toBe(`00-${traceId}-${spanId}-00`);
    await app.settled();
    expect(exporter.getFinishedSpans()).toEqual([]);
  });

  it('starts a trace of its own for a message from the outbox', async () => {
    const receiver = await stage.receiver();
    const database = await stage.add(PGlite.create());
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: webhooksTo(receiver),
      outbox: { connection: database, migrate: true },
    });
    const { traceId } = await trace.getTracer('shop').startActiveSpan('POST /orders', async (span) => {
      await app.analytics.within(database).track({ userId: 'u1', event: 'Paid' });
      return span.spanContext();
    });
    await receiver.received(1);
    const [span] = await spansOf(1);
    expect(span?.spanContext().traceId).not.toBe(traceId);
    expect(span?.parentSpanContext).toBeUndefined();
    expect(span?.links).toEqual([]);
  });

  it.each(['onStart', 'onEnd'] as const)(
    'does not prevent the delivery of messages when `%s` of a span processor throws',
    async (method) => {
      const receiver = await stage.receiver();
      const app = await stage.app({
        connection: await newConnection(),
        webhooks: webhooksTo(receiver, { id: 'crm' }),
      });
      processor.throwsIn = method;
      for (let n = 0; n < 20; n++) app.analytics.track({ userId: `u${n}`, event: 'Paid' });
      await app.analytics.flush();
      await app.settled();
      expect(receiver.requests).toHaveLength(20);
      const lines = app.log.analytics.filter((line) => line.includes('span'));
      expect(lines).toEqual([
        expect.stringMatching(
          /^error: OpenTelemetry threw TypeError at .*\. Delivery continues; fix the sampler, span/,
        ),
      ]);
      expect(lines.join()).not.toContain('another attribute');
    },
  );

  it('links to the calls of all its messages if they share a request', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({ connection: await newConnection(), endpoint: receiver.url() });
    const calls = [1, 2].map(() => inSpan(() => app.analytics.track({ userId: 'u1', event: 'Paid' })));
    await app.analytics.flush();
    const [span] = await spansOf(1);
    expect(span?.parentSpanContext).toBeUndefined();
    expect(span?.links.map((link) => link.context.traceId)).toEqual(calls.map(({ traceId }) => traceId));
    expect(span?.attributes['messaging.batch.message_count']).toBe(2);
  });
});

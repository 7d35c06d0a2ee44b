/**
 * An application in a process of its own that only produces, and whose requests are traced. Its argument is its options
 * as JSON. It prints the port that it listens on, and answers each request with the ids of the trace and the span in
 * which it tracked an event.
 */
import 'reflect-metadata';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { context, SpanKind, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base';
import { AnalyticsModule, AnalyticsService } from '../../../src/index.js';

context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
trace.setGlobalTracerProvider(new BasicTracerProvider());

const [argument = ''] = process.argv.slice(2);
const options = JSON.parse(argument) as object;

@Module({ imports: [AnalyticsModule.forRoot({ writeKey: 'wk_test', ...options, worker: false })] })
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['warn', 'error', 'fatal'] });
app.enableShutdownHooks();
const analytics = app.get(AnalyticsService);

const server = createServer((_request, response) => {
  trace.getTracer('shop').startActiveSpan('POST /orders', { kind: SpanKind.SERVER }, (span) => {
    analytics.track({ userId: 'u1', event: 'Order Completed' });
    const { traceId, spanId } = span.spanContext();
    span.end();
    void analytics.flush().then(() => response.end(JSON.stringify({ traceId, spanId })));
  });
});
server.listen(0, '127.0.0.1', () => {
  console.log(`port ${(server.address() as AddressInfo).port}`);
});

import type { Counter, Histogram, Meter } from '@opentelemetry/api';
import type { CallTrace, RefusalKind, Telemetry } from '../shared/telemetry.js';
import type { DestinationLabels } from './destination-labels.js';
import type { Tracing } from './tracing.js';

/** Bounds of the histogram of requests, in seconds: those that OpenTelemetry recommends for HTTP. */
const REQUEST_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
/** Bounds from a call to its delivery, in seconds: retries take up to four hours. */
const LATENCY_BOUNDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 14_400];

export interface MetricsParts {
  meter: Meter;
  labels: DestinationLabels;
  /** Whether messages are counted for each tenant. */
  tenants: boolean;
  /** `undefined` if the application does not trace. */
  tracing: Tracing | undefined;
}

/** Counts and times messages with the application's OpenTelemetry. */
export class Metrics implements Telemetry {
  private readonly takenMessages: Counter;
  private readonly refusedMessages: Counter;
  private readonly queuedMessages: Counter;
  private readonly attempts: Counter;
  private readonly requestDuration: Histogram;
  private readonly latency: Histogram;

  constructor(private readonly parts: MetricsParts) {
    const { meter } = parts;
    this.takenMessages = meter.createCounter('nestjs_analytics.messages.taken', {
      description: 'Messages that sources have taken.',
      unit: '{message}',
    });
    this.refusedMessages = meter.createCounter('nestjs_analytics.messages.refused', {
      description: 'Messages that were refused.',
      unit: '{message}',
    });
    this.queuedMessages = meter.createCounter('nestjs_analytics.messages.queued', {
      description: 'Messages that were added to the queue, once for each destination.',
      unit: '{message}',
    });
    this.attempts = meter.createCounter('nestjs_analytics.delivery.attempts', {
      description: 'Requests to the URLs of destinations.',
      unit: '{attempt}',
    });
    this.requestDuration = meter.createHistogram('nestjs_analytics.delivery.duration', {
      description: 'Time from the start of a request to its answer.',
      unit: 's',
      advice: { explicitBucketBoundaries: REQUEST_BOUNDS },
    });
    this.latency = meter.createHistogram('nestjs_analytics.delivery.latency', {
      description: 'Time from a call to the answer that delivered its message.',
      unit: 's',
      advice: { explicitBucketBoundaries: LATENCY_BOUNDS },
    });
  }

  taken(source: string, tenant: string | undefined): void {
    const isNamed = this.parts.tenants && tenant !== undefined;
    this.takenMessages.add(1, isNamed ? { source, tenant } : { source });
  }

  get tracing(): Tracing | undefined {
    return this.parts.tracing;
  }

  call(): CallTrace {
    const at = Date.now();
    const traceparent = this.parts.tracing?.traceparent();
    return traceparent === undefined ? { at } : { at, traceparent };
  }

  refused(kind: RefusalKind): void {
    this.refusedMessages.add(1, { reason: kind });
  }

  queued(destination: string, messages: number): void {
    this.queuedMessages.add(messages, { destination: this.parts.labels.of(destination) });
  }

  attempted(destination: string, outcomeClass: string, duration: number): void {
    const attributes = { destination: this.parts.labels.of(destination), class: outcomeClass };
    this.attempts.add(1, attributes);
    this.requestDuration.record(duration / 1000, attributes);
  }

  delivered(destination: string, latency: number): void {
    // Clocks of two processes differ, and a histogram takes nothing below 0.
    this.latency.record(Math.max(latency, 0) / 1000, { destination: this.parts.labels.of(destination) });
  }
}

import type { OnModuleDestroy } from '@nestjs/common';
import type { Attributes, Meter } from '@opentelemetry/api';
import type { CallTrace, RefusalKind, Telemetry } from '../shared/telemetry.js';
import { BufferedCounter } from './buffered-counter.js';
import { BufferedHistogram } from './buffered-histogram.js';
import type { DestinationLabels } from './destination-labels.js';
import type { Tracing } from './tracing.js';

/** Bounds of the histogram of requests, in seconds: those that OpenTelemetry recommends for HTTP. */
const REQUEST_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
/** Bounds of the histogram from a call to its delivery, in seconds: retries take up to four hours. */
const LATENCY_BOUNDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 14_400];

export interface MetricsParts {
  meter: Meter;
  labels: DestinationLabels;
  /** Whether messages are counted for each tenant. */
  tenants: boolean;
  /** `undefined` if the application does not trace. */
  tracing: Tracing | undefined;
  /** Called with what the application's views throw. */
  onThrow: (error: unknown) => void;
}

/** Counts and times messages with the application's OpenTelemetry. */
export class Metrics implements Telemetry, OnModuleDestroy {
  private readonly takenMessages: BufferedCounter;
  private readonly refusedMessages: BufferedCounter;
  private readonly queuedMessages: BufferedCounter;
  private readonly removedMessages: BufferedCounter;
  private readonly attempts: BufferedCounter;
  private readonly requestDuration: BufferedHistogram;
  private readonly latency: BufferedHistogram;
  /** Many calls often come at the same time. A shared object saves memory while their messages wait. */
  private latestCall: CallTrace | undefined;
  /** Requests of a destination often come many at a time, too. Joining and hashing two texts for each takes longer. */
  private latestAttempt = { label: '', outcomeClass: '', key: '' };

  constructor(private readonly parts: MetricsParts) {
    const { meter, onThrow } = parts;
    const counter = (name: string, unit: string, description: string): BufferedCounter =>
      new BufferedCounter(meter.createCounter(`nestjs_analytics.${name}`, { unit, description }), onThrow);
    this.takenMessages = counter('messages.taken', '{message}', 'Messages that sources have taken.');
    this.refusedMessages = counter('messages.refused', '{message}', 'Messages that were refused.');
    this.queuedMessages = counter(
      'messages.queued',
      '{message}',
      'Messages that were added to the queue, once for each destination.',
    );
    this.removedMessages = counter(
      'messages.removed',
      '{message}',
      'Messages that failed for good and were removed, because their destination had too many.',
    );
    this.attempts = counter('delivery.attempts', '{attempt}', 'Requests to the URLs of destinations.');
    const histogram = (name: string, bounds: number[], description: string): BufferedHistogram => {
      const advice = { explicitBucketBoundaries: bounds };
      const created = meter.createHistogram(`nestjs_analytics.${name}`, { unit: 's', description, advice });
      return new BufferedHistogram(created, onThrow);
    };
    this.requestDuration = histogram(
      'delivery.duration',
      REQUEST_BOUNDS,
      'Time from the start of a request to its answer.',
    );
    this.latency = histogram(
      'delivery.latency',
      LATENCY_BOUNDS,
      'Time from a call to the answer that delivered its message.',
    );
  }

  taken(source: string, tenant: string | undefined): void {
    if (!this.parts.tenants || tenant === undefined) this.takenMessages.add(1, source, ofSource);
    else this.takenMessages.add(1, `${tenant}\n${source}`, () => ({ source, tenant }));
  }

  get tracing(): Tracing | undefined {
    return this.parts.tracing;
  }

  call(): CallTrace {
    const at = Date.now();
    const traceparent = this.parts.tracing?.traceparent();
    const { latestCall } = this;
    if (latestCall?.at === at && latestCall.traceparent === traceparent) return latestCall;
    return (this.latestCall = traceparent === undefined ? { at } : { at, traceparent });
  }

  refused(kind: RefusalKind): void {
    this.refusedMessages.add(1, kind, ofReason);
  }

  queued(destination: string, messages: number): void {
    this.queuedMessages.add(messages, this.parts.labels.of(destination), ofDestination);
  }

  removed(destination: string, messages: number): void {
    this.removedMessages.add(messages, this.parts.labels.of(destination), ofDestination);
  }

  attempted(destination: string, outcomeClass: string, duration: number): void {
    const key = this.keyOf(this.parts.labels.of(destination), outcomeClass);
    this.attempts.add(1, key, ofAttempts);
    this.requestDuration.record(duration / 1_000, key, ofAttempts);
  }

  delivered(destination: string, latency: number): void {
    // Clocks of two processes differ, and a histogram takes nothing below 0.
    this.latency.record(Math.max(latency, 0) / 1_000, this.parts.labels.of(destination), ofDestination);
  }

  /** Hands everything that was counted so far to the SDK. */
  flush(): void {
    for (const instrument of this.instruments) instrument.flush();
  }

  onModuleDestroy(): void {
    for (const instrument of this.instruments) instrument.close();
  }

  private keyOf(label: string, outcomeClass: string): string {
    const { latestAttempt } = this;
    if (latestAttempt.label === label && latestAttempt.outcomeClass === outcomeClass)
      return latestAttempt.key;
    const key = `${outcomeClass}\n${label}`;
    this.latestAttempt = { label, outcomeClass, key };
    return key;
  }

  private get instruments(): (BufferedCounter | BufferedHistogram)[] {
    return [
      this.takenMessages,
      this.refusedMessages,
      this.queuedMessages,
      this.removedMessages,
      this.attempts,
      this.requestDuration,
      this.latency,
    ];
  }
}

const ofSource = (source: string): Attributes => ({ source });
const ofReason = (reason: string): Attributes => ({ reason });
const ofDestination = (destination: string): Attributes => ({ destination });

function ofAttempts(key: string): Attributes {
  const end = key.indexOf('\n');
  return { destination: key.slice(end + 1), class: key.slice(0, end) };
}

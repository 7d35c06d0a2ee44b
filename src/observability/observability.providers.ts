import type { Provider } from '@nestjs/common';
import { AnalyticsClient } from '../client/analytics-client.js';
import { CustomDestinations } from '../custom-destinations/custom-destinations.js';
import { EndpointLog } from '../deliveries/endpoint-log.js';
import { DeliveryWorker } from '../delivery/delivery-worker.js';
import type { Outbox } from '../outbox/outbox.js';
import { OUTBOX } from '../outbox/outbox.providers.js';
import { BatchStore } from '../queue/batch-store.js';
import { createBacklogStore } from '../queue/queue.providers.js';
import { QUEUE_BACKEND, type QueueBackend } from '../queue/queue-backend.js';
import { QueuePartitions } from '../queue/queue-partitions.js';
import { RESOLVED_OPTIONS } from '../options/options.tokens.js';
import type { ResolvedOptions } from '../options/resolved-options.js';
import { ApplicationEnd } from '../shared/application-end.js';
import { TELEMETRY } from '../shared/telemetry.js';
import { AnalyticsHealthIndicator } from './analytics-health.indicator.js';
import { type AnalyticsStatus, readStatus } from './analytics-status.js';
import { DestinationLabels } from './destination-labels.js';
import type { Gauges } from './gauges.js';
import type { Metrics } from './metrics.js';
import { loadOpenTelemetry, type OpenTelemetry, tellLeftOut, tellThrown } from './open-telemetry.js';
import { AnalyticsLogger } from '../shared/analytics-logger.js';

/** Injection token of a function that reads the status. */
export const READ_STATUS = Symbol('nestjs-analytics:read-status');

/** Injection token of OpenTelemetry; `undefined` if the application has registered no SDK. */
const OPEN_TELEMETRY = Symbol('nestjs-analytics:open-telemetry');
const GAUGES = Symbol('nestjs-analytics:gauges');

// An application without OpenTelemetry loads nothing for it.
async function createTelemetry(
  { metrics: { tenants }, tracing: { propagate, spansPerSecond } }: ResolvedOptions,
  openTelemetry: OpenTelemetry | undefined,
  labels: DestinationLabels,
): Promise<Metrics | undefined> {
  if (openTelemetry === undefined) return undefined;
  const { api, tracer, meter = api.createNoopMeter() } = openTelemetry;
  const [{ Metrics }, { Tracing }] = await Promise.all([import('./metrics.js'), import('./tracing.js')]);
  const logger = new AnalyticsLogger();
  const onThrow = tellThrown(logger);
  const onLeftOut = tellLeftOut(logger, spansPerSecond);
  const tracing =
    tracer && new Tracing({ api, tracer, labels, propagate, spansPerSecond, onThrow, onLeftOut });
  return new Metrics({ meter, labels, tenants, tracing, onThrow });
}

async function createGauges(
  { connection: { kind } }: ResolvedOptions,
  openTelemetry: OpenTelemetry | undefined,
  metrics: Metrics | undefined,
  labels: DestinationLabels,
  status: () => AnalyticsStatus,
  { queues }: QueuePartitions,
  store: BatchStore,
  outbox: Outbox | undefined,
): Promise<Gauges | undefined> {
  const meter = openTelemetry?.meter;
  if (meter === undefined) return undefined;
  const { Gauges } = await import('./gauges.js');
  return new Gauges({
    meter,
    metrics,
    labels,
    status,
    queues: kind === 'none' ? undefined : queues,
    store,
    outbox,
  });
}

/** Providers that show the application how analytics is doing. */
export const OBSERVABILITY_PROVIDERS: Provider[] = [
  { provide: OPEN_TELEMETRY, useFactory: loadOpenTelemetry },
  {
    provide: DestinationLabels,
    inject: [RESOLVED_OPTIONS, CustomDestinations],
    useFactory: (options: ResolvedOptions, custom: CustomDestinations) =>
      new DestinationLabels(options, custom),
  },
  {
    provide: TELEMETRY,
    inject: [RESOLVED_OPTIONS, OPEN_TELEMETRY, DestinationLabels],
    useFactory: createTelemetry,
  },
  {
    provide: GAUGES,
    inject: [
      RESOLVED_OPTIONS,
      OPEN_TELEMETRY,
      TELEMETRY,
      DestinationLabels,
      READ_STATUS,
      QueuePartitions,
      BatchStore,
      OUTBOX,
    ],
    useFactory: createGauges,
  },
  {
    provide: READ_STATUS,
    inject: [AnalyticsClient, QUEUE_BACKEND, DeliveryWorker, EndpointLog, OUTBOX, ApplicationEnd],
    useFactory:
      (
        client: AnalyticsClient,
        { health }: QueueBackend,
        worker: DeliveryWorker | undefined,
        endpoints: EndpointLog,
        outbox: Outbox | undefined,
        end: ApplicationEnd,
      ) =>
      (): AnalyticsStatus =>
        readStatus({ client, health, worker, endpoints, outbox, end }),
  },
  {
    provide: AnalyticsHealthIndicator,
    inject: [RESOLVED_OPTIONS, READ_STATUS, QUEUE_BACKEND, BatchStore, OUTBOX, ApplicationEnd],
    useFactory: (
      { connection }: ResolvedOptions,
      status: () => AnalyticsStatus,
      { storage }: QueueBackend,
      store: BatchStore,
      outbox: Outbox | undefined,
      end: ApplicationEnd,
    ) =>
      new AnalyticsHealthIndicator({
        status,
        databases: end.guarding({ backlogs: createBacklogStore(storage), store, outbox }),
        hasOutbox: outbox !== undefined,
        delivers: connection.kind !== 'none',
      }),
  },
];

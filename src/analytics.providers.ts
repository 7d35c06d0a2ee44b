import { getQueueToken, getSharedConfigToken } from '@nestjs/bullmq';
import { Logger, type Provider } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import type { QueueOptions } from 'bullmq';
import { AnalyticsLifecycle } from './analytics.lifecycle.js';
import { MODULE_OPTIONS_TOKEN } from './analytics.module-definition.js';
import { AnalyticsService } from './analytics.service.js';
import { AnalyticsClient } from './client/analytics-client.js';
import { ClientLog } from './client/client-log.js';
import { lanesOf } from './client/lane.js';
import { createDeliveryWorker } from './delivery/create-delivery-worker.js';
import { DeliveryEvents } from './delivery/delivery-events.js';
import { DeliveryReporter } from './delivery/delivery-reporter.js';
import { UserEraser } from './delivery/user-eraser.js';
import { createDestinations } from './destinations/create-destinations.js';
import { DestinationRegistry } from './destinations/destination-registry.js';
import { forwardedBody } from './destinations/tracking-api/forwarded-body.js';
import { webhookBody } from './destinations/webhooks/webhook-body.js';
import { WebhookClients } from './destinations/webhooks/webhook-clients.js';
import { DuplicateModuleError } from './errors/duplicate-module.error.js';
import { LIBRARY } from './messages/library.js';
import {
  RESOLVED_OPTIONS,
  SOURCE_NAMES_EXTRA,
  TRACKING_API_EXTRA,
  WORKER_EXTRA,
} from './options/options.tokens.js';
import { adviseAtStart } from './options/advise-at-start.js';
import { resolveOptions } from './options/resolve-options.js';
import type { ResolvedOptions } from './options/resolved-options.js';
import { BatchQueue } from './queue/batch-queue.js';
import { createQueueBackend } from './queue/create-queue-backend.js';
import { ANALYTICS_QUEUE, QUEUE_BACKEND } from './queue/queue.constants.js';
import type { BatchJobQueue, QueueBackend } from './queue/queue-backend.js';
import { EventSchemas } from './tracking/event-schemas.js';
import { TRACKING_HUB, type TrackingHub } from './tracking/tracking-hub.js';

const QUEUE = getQueueToken(ANALYTICS_QUEUE);
const HOST_CONFIG = { token: getSharedConfigToken(), optional: true };

const logger = () => new Logger('Analytics');

function resolve(
  options: unknown,
  worker: boolean,
  trackingApi: unknown,
  sourceNames: readonly string[],
  modules: ModulesContainer,
  host: Partial<QueueOptions> | undefined,
): ResolvedOptions {
  const instances = [...modules.values()].filter((module) => module.providers.has(RESOLVED_OPTIONS));
  if (instances.length > 1) throw new DuplicateModuleError();
  return resolveOptions(options, {
    worker,
    trackingApi,
    sourceNames,
    hostConnection: host?.connection,
  });
}

function openQueueBackend(options: ResolvedOptions): Promise<QueueBackend> {
  adviseAtStart(options, logger());
  return createQueueBackend(options.connection, logger());
}

function openQueue(backend: QueueBackend): BatchJobQueue {
  const queue = backend.createQueue(ANALYTICS_QUEUE, {});
  // BullMQ prints what nobody listens to.
  queue.on('error', (error) => {
    backend.health.report(error);
  });
  return queue;
}

function createClient(
  options: ResolvedOptions,
  queue: BatchJobQueue,
  { health }: QueueBackend,
  hub: TrackingHub,
  eraser: UserEraser,
): AnalyticsClient {
  const { flushAt, flushAfter, maxBufferedBytes, beforeSend, tracking, forwarding, sources } = options;
  const context = { library: LIBRARY, ...options.context };
  return new AnalyticsClient(
    lanesOf(options),
    new BatchQueue(queue),
    {
      flushAt,
      flushAfter,
      maxBufferedBytes,
      beforeSend,
      context,
      schemas: new Map(sources.map(({ name, schema }) => [name, schema])),
      body: forwarding === undefined ? webhookBody : forwardedBody,
      callContext: () => hub.contextFields,
      refusal: new EventSchemas(tracking, logger()).refusal,
      onDeletion: (userId) => {
        eraser.add(userId);
      },
    },
    new ClientLog(health, logger()),
  );
}

function createLifecycle(
  options: ResolvedOptions,
  client: AnalyticsClient,
  eraser: UserEraser,
  destinations: DestinationRegistry,
  reporter: DeliveryReporter,
  events: DeliveryEvents,
  webhookClients: WebhookClients,
  queue: BatchJobQueue,
  backend: QueueBackend,
): AnalyticsLifecycle {
  const worker = options.worker
    ? createDeliveryWorker(options, destinations, reporter, queue, backend)
    : undefined;
  return new AnalyticsLifecycle(
    { client, eraser, worker, events, webhookClients, queue, backend },
    options.shutdownTimeout,
    logger(),
  );
}

/** The parts of the module, from the options to the service, each made of those before it. */
export const ANALYTICS_PROVIDERS: Provider[] = [
  {
    provide: RESOLVED_OPTIONS,
    inject: [
      MODULE_OPTIONS_TOKEN,
      WORKER_EXTRA,
      TRACKING_API_EXTRA,
      SOURCE_NAMES_EXTRA,
      ModulesContainer,
      HOST_CONFIG,
    ],
    useFactory: resolve,
  },
  {
    provide: QUEUE_BACKEND,
    inject: [RESOLVED_OPTIONS],
    useFactory: openQueueBackend,
  },
  {
    provide: QUEUE,
    inject: [QUEUE_BACKEND],
    useFactory: openQueue,
  },
  {
    provide: AnalyticsClient,
    inject: [RESOLVED_OPTIONS, QUEUE, QUEUE_BACKEND, TRACKING_HUB, UserEraser],
    useFactory: createClient,
  },
  {
    provide: WebhookClients,
    inject: [RESOLVED_OPTIONS],
    useFactory: ({ connections }: ResolvedOptions) => new WebhookClients(connections),
  },
  {
    provide: DestinationRegistry,
    inject: [RESOLVED_OPTIONS, WebhookClients],
    useFactory: createDestinations,
  },
  {
    provide: AnalyticsLifecycle,
    inject: [
      RESOLVED_OPTIONS,
      AnalyticsClient,
      UserEraser,
      DestinationRegistry,
      DeliveryReporter,
      DeliveryEvents,
      WebhookClients,
      QUEUE,
      QUEUE_BACKEND,
    ],
    useFactory: createLifecycle,
  },
  {
    provide: AnalyticsService,
    inject: [AnalyticsClient, RESOLVED_OPTIONS],
    useFactory: (client: AnalyticsClient, { sources: [first, ...rest] }: ResolvedOptions) =>
      new AnalyticsService(client, [first.name, ...rest.map(({ name }) => name)]),
  },
];

import { Logger, type Provider } from '@nestjs/common';
import { DeletedUsers } from '../deliveries/deleted-users.js';
import { DeliveryEvents } from '../deliveries/delivery-events.js';
import { EndpointLog } from '../deliveries/endpoint-log.js';
import { HistoryRecorder } from '../deliveries/history/history-recorder.js';
import { CodeDestination } from '../destinations/custom/code-destination.js';
import { CustomDestinations } from '../destinations/custom/custom-destinations.js';
import { DestinationRegistry } from '../destinations/destination-registry.js';
import { LiveDestinations } from '../destinations/live-destinations.js';
import { EndpointDestination } from '../forwarding/endpoint-destination.js';
import { RECORDING, RESOLVED_OPTIONS } from '../options/options.tokens.js';
import type { ResolvedOptions } from '../options/resolved-options.js';
import { BacklogCounter } from '../queue/backlog-counter.js';
import { BatchQueue } from '../queue/batch-queue.js';
import { QUEUE_BACKEND, type QueueBackend } from '../queue/queue-backend.js';
import { TELEMETRY, type Telemetry } from '../shared/telemetry.js';
import { WebhookClients } from '../webhooks/http/webhook-clients.js';
import { WebhooksDestination } from '../webhooks/webhooks-destination.js';
import { BatchDelivery } from './batch-delivery.js';
import { DeliveryReporter } from './delivery-reporter.js';
import { DeliveryScheduler } from './delivery-scheduler.js';
import { DeliveryWorker } from './delivery-worker.js';
import { JobProcessor } from './job-processor.js';
import { createRateLimitStore } from './rate-limits/create-rate-limit-store.js';

/** In milliseconds, for destinations without a timeout of their own. */
const DEFAULT_TIMEOUT = 5_000;
/** Jobs in hand for each batch of `concurrency`. The scheduler decides which of them are sent. */
const JOBS_IN_HAND = 32;

/**
 * The configured destinations: webhooks and the application's own code, or another application's tracking API
 * in their place.
 */
function createDestinations(
  { webhooks, sources, forwarding }: ResolvedOptions,
  clients: WebhookClients,
  endpoints: EndpointLog,
  atRunTime: LiveDestinations | undefined,
  custom: CustomDestinations,
): DestinationRegistry {
  if (forwarding !== undefined) {
    // The endpoint is the application's own choice, not a customer's.
    const client = clients.for({ allowPrivateNetwork: true });
    return new DestinationRegistry(
      sources.map((source) => new EndpointDestination(source, forwarding, client, endpoints)),
    );
  }
  const registry = new DestinationRegistry(
    webhooks.map((options) => new WebhooksDestination(options, clients.for(options), endpoints)),
    atRunTime,
  );
  custom.whenKnown((all) => {
    for (const options of all) registry.add(new CodeDestination(options, endpoints));
  });
  return registry;
}

/** Clients that are closed send nothing, so that test events leave a test no more than other messages do. */
async function createWebhookClients(
  { connections }: ResolvedOptions,
  recording: object | undefined,
): Promise<WebhookClients> {
  const clients = new WebhookClients(connections);
  if (recording !== undefined) await clients.close();
  return clients;
}

function createReporter(
  endpoints: EndpointLog,
  { outcomes }: DeliveryEvents,
  counter: BacklogCounter,
  history: HistoryRecorder | undefined,
  telemetry: Telemetry | undefined,
): DeliveryReporter {
  const onEnded = (destination: string, messages: number): void => {
    counter.ended(destination, messages);
  };
  return new DeliveryReporter(endpoints, outcomes, new Logger('Analytics'), onEnded, history, telemetry);
}

function createScheduler(
  { concurrency, connections, connection }: ResolvedOptions,
  queue: BatchQueue,
  { storage }: QueueBackend,
): DeliveryScheduler {
  return new DeliveryScheduler({
    requests: concurrency * connections,
    connections,
    batches: concurrency,
    jobs: concurrency * JOBS_IN_HAND,
    rateLimits: createRateLimitStore(storage, connection.kind === 'embedded'),
    promote: (jobId) => queue.promote(jobId),
  });
}

function createWorker(
  options: ResolvedOptions,
  destinations: DestinationRegistry,
  scheduler: DeliveryScheduler,
  reporter: DeliveryReporter,
  queue: BatchQueue,
  backend: QueueBackend,
  deleted: DeletedUsers,
): DeliveryWorker | undefined {
  if (!options.worker) return undefined;
  const { concurrency, unknownJobTimeout } = options;
  const deliveries = new BatchDelivery(destinations, scheduler, reporter, deleted);
  const processor = new JobProcessor({
    deliveries,
    scheduler,
    queue,
    reporter,
    deleted,
    unknownJobTimeout,
  });
  return new DeliveryWorker(backend, processor, {
    scheduler,
    jobs: concurrency * JOBS_IN_HAND,
    timeout: longestTimeout(options),
  });
}

function longestTimeout({ webhooks, forwarding }: ResolvedOptions): number {
  const timeouts = webhooks.map(({ timeout }) => timeout);
  if (forwarding !== undefined) timeouts.push(forwarding.timeout);
  return timeouts.length === 0 ? DEFAULT_TIMEOUT : Math.max(...timeouts);
}

/** The destinations, and the worker that delivers to them. A process that only produces has no worker. */
export const DELIVERY_PROVIDERS: Provider[] = [
  {
    provide: WebhookClients,
    inject: [RESOLVED_OPTIONS, { token: RECORDING, optional: true }],
    useFactory: createWebhookClients,
  },
  {
    provide: DestinationRegistry,
    inject: [RESOLVED_OPTIONS, WebhookClients, EndpointLog, LiveDestinations, CustomDestinations],
    useFactory: createDestinations,
  },
  {
    provide: DeliveryReporter,
    inject: [EndpointLog, DeliveryEvents, BacklogCounter, HistoryRecorder, TELEMETRY],
    useFactory: createReporter,
  },
  {
    provide: DeliveryScheduler,
    inject: [RESOLVED_OPTIONS, BatchQueue, QUEUE_BACKEND],
    useFactory: createScheduler,
  },
  {
    provide: DeliveryWorker,
    inject: [
      RESOLVED_OPTIONS,
      DestinationRegistry,
      DeliveryScheduler,
      DeliveryReporter,
      BatchQueue,
      QUEUE_BACKEND,
      DeletedUsers,
    ],
    useFactory: createWorker,
  },
];

import type { Provider } from '@nestjs/common';
import { DeletedUsers } from '../deliveries/deleted-users.js';
import { DeliveryEvents } from '../deliveries/delivery-events.js';
import { DestinationLines } from '../deliveries/destination-lines.js';
import { EndpointLog } from '../deliveries/endpoint-log.js';
import { HistoryRecorder } from '../deliveries/history/history-recorder.js';
import { CustomDestinations } from '../custom-destinations/custom-destinations.js';
import { DestinationRegistry } from '../destinations/destination-registry.js';
import { LIVE_DESTINATIONS } from '../stored-destinations/stored-destinations.tokens.js';
import type { LiveDestinations } from '../stored-destinations/live-destinations.js';
import { RECORDING, RESOLVED_OPTIONS } from '../options/options.tokens.js';
import type { ResolvedOptions } from '../options/resolved-options.js';
import { BacklogCounter } from '../queue/backlog-counter.js';
import { FailedLimit } from '../queue/failed-limit.js';
import { BatchQueue } from '../queue/batch-queue.js';
import { QUEUE_BACKEND, type QueueBackend } from '../queue/queue-backend.js';
import { QueuePartitions } from '../queue/queue-partitions.js';
import { TELEMETRY, type Telemetry } from '../shared/telemetry.js';
import type { WebhookClients } from '../webhooks/http/webhook-clients.js';
import { WEBHOOK_CLIENTS } from '../webhooks/webhooks.tokens.js';
import { DeliveryWorker } from './delivery-worker.js';

/**
 * Loads the HTTP clients here, so that a program that only verifies webhooks does without them. If messages are only
 * recorded, closes the clients at once: events of `sendTest` must not leave a test either.
 */
async function createWebhookClients(
  { connections }: ResolvedOptions,
  recording: object | undefined,
): Promise<WebhookClients> {
  const { WebhookClients } = await import('../webhooks/http/webhook-clients.js');
  const clients = new WebhookClients(connections);
  if (recording !== undefined) await clients.close();
  return clients;
}

async function createRegistry(
  options: ResolvedOptions,
  clients: WebhookClients,
  endpoints: EndpointLog,
  atRunTime: LiveDestinations | undefined,
  custom: CustomDestinations,
  telemetry: Telemetry | undefined,
): Promise<DestinationRegistry> {
  const { createDestinations } = await import('./create-destinations.js');
  const registry = createDestinations(options, clients, endpoints, atRunTime, custom);
  // The destinations are made with the telemetry, so it can learn only now who owns each of them.
  telemetry?.tracing?.shareBy((id) => registry.ownerOf(id));
  return registry;
}

// A process that only produces does not load the worker's code.
async function createWorker(
  options: ResolvedOptions,
  destinations: DestinationRegistry,
  queue: BatchQueue,
  backend: QueueBackend,
  partitions: QueuePartitions,
  counter: BacklogCounter,
  failedLimit: FailedLimit,
  deleted: DeletedUsers,
  endpoints: EndpointLog,
  lines: DestinationLines,
  events: DeliveryEvents,
  history: HistoryRecorder | undefined,
  telemetry: Telemetry | undefined,
): Promise<DeliveryWorker | undefined> {
  if (!options.worker) return undefined;
  const { createDeliveryWorker } = await import('./create-delivery-worker.js');
  return createDeliveryWorker(options, {
    destinations,
    queue,
    backend,
    partitions,
    counter,
    failedLimit,
    deleted,
    endpoints,
    lines,
    events,
    history,
    telemetry,
  });
}

/** The destinations, and the worker that delivers to them. A process that only produces has no worker. */
export const DELIVERY_PROVIDERS: Provider[] = [
  {
    provide: WEBHOOK_CLIENTS,
    inject: [RESOLVED_OPTIONS, { token: RECORDING, optional: true }],
    useFactory: createWebhookClients,
  },
  {
    provide: DestinationRegistry,
    inject: [
      RESOLVED_OPTIONS,
      WEBHOOK_CLIENTS,
      EndpointLog,
      LIVE_DESTINATIONS,
      CustomDestinations,
      TELEMETRY,
    ],
    useFactory: createRegistry,
  },
  {
    provide: DeliveryWorker,
    inject: [
      RESOLVED_OPTIONS,
      DestinationRegistry,
      BatchQueue,
      QUEUE_BACKEND,
      QueuePartitions,
      BacklogCounter,
      FailedLimit,
      DeletedUsers,
      EndpointLog,
      DestinationLines,
      DeliveryEvents,
      HistoryRecorder,
      TELEMETRY,
    ],
    useFactory: createWorker,
  },
];

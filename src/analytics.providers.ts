import type { Provider } from '@nestjs/common';
import { AnalyticsLifecycle } from './analytics.lifecycle.js';
import { AnalyticsService } from './analytics.service.js';
import { SERVICES } from './analytics.services.js';
import { AUDIENCES_PROVIDERS } from './audiences/audiences.providers.js';
import { AnalyticsClient } from './client/analytics-client.js';
import { CLIENT_PROVIDERS } from './client/client.providers.js';
import { CONSOLE_PROVIDERS } from './console/console.providers.js';
import { DELIVERIES_PROVIDERS } from './deliveries/deliveries.providers.js';
import { DeliveryEvents } from './deliveries/delivery-events.js';
import { DestinationLines } from './deliveries/destination-lines.js';
import { EndpointLog } from './deliveries/endpoint-log.js';
import { HistoryRecorder } from './deliveries/history/history-recorder.js';
import { WaitingSampler } from './deliveries/history/waiting-sampler.js';
import { UnfinishedDeletions } from './deliveries/unfinished-deletions.js';
import { UserEraser } from './deliveries/user-eraser.js';
import { DELIVERY_PROVIDERS } from './delivery/delivery.providers.js';
import { DeliveryWorker } from './delivery/delivery-worker.js';
import { DESTINATIONS_API_PROVIDERS } from './destinations-api/destinations-api.providers.js';
import { DestinationsEnd } from './stored-destinations/destinations-end.js';
import { CUSTOM_DESTINATIONS_PROVIDERS } from './custom-destinations/custom-destinations.providers.js';
import { STORED_DESTINATIONS_PROVIDERS } from './stored-destinations/stored-destinations.providers.js';
import { INGEST_PROVIDERS } from './ingest/ingest.providers.js';
import type { AnalyticsStatus } from './observability/analytics-status.js';
import { OBSERVABILITY_PROVIDERS, READ_STATUS } from './observability/observability.providers.js';
import { LIVE_PROVIDERS } from './live/live.providers.js';
import { OUTBOX, OUTBOX_PROVIDERS } from './outbox/outbox.providers.js';
import type { Outbox } from './outbox/outbox.js';
import { OPTIONS_PROVIDERS } from './options/options.providers.js';
import { RESOLVED_OPTIONS } from './options/options.tokens.js';
import { type ResolvedOptions, sourceNames } from './options/resolved-options.js';
import { BacklogCounter } from './queue/backlog-counter.js';
import { BacklogUpkeep } from './queue/backlog-upkeep.js';
import { PartitionWatch } from './queue/partition-watch.js';
import { ANALYTICS_QUEUES, QUEUE, QUEUE_PROVIDERS } from './queue/queue.providers.js';
import { QUEUE_BACKEND, type QueueBackend } from './queue/queue-backend.js';
import { QueuePartitions } from './queue/queue-partitions.js';
import type { WebhookClients } from './webhooks/http/webhook-clients.js';
import { WEBHOOK_CLIENTS } from './webhooks/webhooks.tokens.js';
import { ApplicationEnd } from './shared/application-end.js';
import { AnalyticsLogger } from './shared/analytics-logger.js';

const ROOT_PROVIDERS: Provider[] = [
  { provide: ApplicationEnd, useFactory: () => new ApplicationEnd() },
  {
    provide: AnalyticsService,
    inject: [AnalyticsClient, RESOLVED_OPTIONS, READ_STATUS],
    useFactory: (client: AnalyticsClient, { sources }: ResolvedOptions, readStatus: () => AnalyticsStatus) =>
      new AnalyticsService(client, sourceNames(sources), readStatus),
  },
  {
    provide: AnalyticsLifecycle,
    inject: [
      RESOLVED_OPTIONS,
      AnalyticsClient,
      UserEraser,
      UnfinishedDeletions,
      DeliveryWorker,
      DeliveryEvents,
      EndpointLog,
      DestinationLines,
      WEBHOOK_CLIENTS,
      BacklogCounter,
      BacklogUpkeep,
      DestinationsEnd,
      QueuePartitions,
      PartitionWatch,
      QUEUE_BACKEND,
      OUTBOX,
      HistoryRecorder,
      WaitingSampler,
      ApplicationEnd,
    ],
    useFactory: (
      { shutdownTimeout }: ResolvedOptions,
      client: AnalyticsClient,
      eraser: UserEraser,
      unfinishedDeletions: UnfinishedDeletions | undefined,
      worker: DeliveryWorker | undefined,
      events: DeliveryEvents,
      endpointLog: EndpointLog,
      destinationLines: DestinationLines,
      webhookClients: WebhookClients,
      backlogs: BacklogCounter,
      backlogUpkeep: BacklogUpkeep,
      destinations: DestinationsEnd,
      partitions: QueuePartitions,
      partitionWatch: PartitionWatch,
      backend: QueueBackend,
      outbox: Outbox | undefined,
      history: HistoryRecorder | undefined,
      waitingSampler: WaitingSampler | undefined,
      end: ApplicationEnd,
    ) =>
      new AnalyticsLifecycle(
        {
          client,
          eraser,
          unfinishedDeletions,
          worker,
          events,
          logs: [endpointLog, destinationLines],
          webhookClients,
          backlogs,
          backlogUpkeep,
          destinations,
          partitions,
          partitionWatch,
          backend,
          outbox,
          history,
          waitingSampler,
          end,
        },
        shutdownTimeout,
        new AnalyticsLogger(),
      ),
  },
];

/** All providers of the module, apart from the options as given. */
export const ANALYTICS_PROVIDERS: Provider[] = [
  ...OPTIONS_PROVIDERS,
  ...QUEUE_PROVIDERS,
  ...LIVE_PROVIDERS,
  ...CLIENT_PROVIDERS,
  ...INGEST_PROVIDERS,
  ...DELIVERY_PROVIDERS,
  ...DELIVERIES_PROVIDERS,
  ...AUDIENCES_PROVIDERS,
  ...CUSTOM_DESTINATIONS_PROVIDERS,
  ...STORED_DESTINATIONS_PROVIDERS,
  ...DESTINATIONS_API_PROVIDERS,
  ...CONSOLE_PROVIDERS,
  ...OUTBOX_PROVIDERS,
  ...OBSERVABILITY_PROVIDERS,
  ...ROOT_PROVIDERS,
];

/** What an application can inject. */
export const ANALYTICS_EXPORTS = [...Object.values(SERVICES), QUEUE, ANALYTICS_QUEUES];

import type { Provider } from '@nestjs/common';
import { DeliveriesService } from './deliveries.service.js';
import { createDeletionStore, DeletedUsers } from './deleted-users.js';
import { type BacklogEvent, DeliveryEvents } from './delivery-events.js';
import { DeletionLog } from './deletion-log.js';
import { DestinationLines } from './destination-lines.js';
import { EndpointLog } from './endpoint-log.js';
import { FailedMessages } from './failed-messages.js';
import { DeliveryHistory } from './history/delivery-history.js';
import { HISTORY_PROVIDERS } from './history/history.providers.js';
import { UnfinishedDeletions } from './unfinished-deletions.js';
import { UserEraser } from './user-eraser.js';
import { UserMessages } from './user-messages.js';
import { DestinationRegistry } from '../destinations/destination-registry.js';
import { RESOLVED_OPTIONS } from '../options/options.tokens.js';
import { DEFAULT_FAILED_LIMIT } from '../options/resolve-webhooks.js';
import type { ResolvedOptions } from '../options/resolved-options.js';
import { BacklogCounter } from '../queue/backlog-counter.js';
import type { FullBacklog } from '../queue/destination-backlog.js';
import { BatchQueue } from '../queue/batch-queue.js';
import { BatchStore } from '../queue/batch-store.js';
import { ApplicationMarks } from '../queue/application-marks.js';
import { FailedLimit } from '../queue/failed-limit.js';
import { createBacklogStore } from '../queue/queue.providers.js';
import { QueuePartitions } from '../queue/queue-partitions.js';
import { TELEMETRY, type Telemetry } from '../shared/telemetry.js';
import { QUEUE_BACKEND, type QueueBackend } from '../queue/queue-backend.js';
import { ApplicationEnd } from '../shared/application-end.js';
import { AnalyticsLogger } from '../shared/analytics-logger.js';

const logger = (): AnalyticsLogger => new AnalyticsLogger();

function createDeliveryEvents(counter: BacklogCounter): DeliveryEvents {
  const events = new DeliveryEvents(logger());
  const emit = (type: BacklogEvent['type'], backlog: FullBacklog): void => {
    if (events.endpoints.isObserved) events.endpoints.emit({ type, ...backlog });
  };
  counter.observe({
    onFull: (backlog) => {
      emit('full', backlog);
    },
    onDrained: (backlog) => {
      emit('drained', backlog);
    },
  });
  return events;
}

function createFailedLimit(
  options: ResolvedOptions,
  { queues }: QueuePartitions,
  { health, jobStorage }: QueueBackend,
  lines: DestinationLines,
  telemetry: Telemetry | undefined,
): FailedLimit {
  const { destinations, webhooks } = options;
  const limits = new Map(webhooks.map(({ id, failedLimit }) => [id, failedLimit]));
  const limitOf = (id: string): number => limits.get(id) ?? destinations?.failedLimit ?? DEFAULT_FAILED_LIMIT;
  return new FailedLimit({
    queues,
    storage: jobStorage,
    health,
    marks: new ApplicationMarks(options),
    limitOf,
    onRemoved: (destination, messages) => {
      lines.write(
        'warn',
        'removed',
        `For the destination ${JSON.stringify(destination)}, only the latest ${limitOf(destination)} messages that failed ` +
          'for good are kept (its `failedLimit`). Older ones are removed.',
      );
      telemetry?.removed(destination, messages);
    },
  });
}

/** Returns `undefined` if there is no queue: no deletion is left unfinished then. */
async function createUnfinishedDeletions(
  { connection, audiences }: ResolvedOptions,
  eraser: UserEraser,
  { storage }: QueueBackend,
): Promise<UnfinishedDeletions | undefined> {
  if (connection.kind === 'none') return undefined;
  const [store, backlogs] = [await createDeletionStore(storage), createBacklogStore(storage)];
  return new UnfinishedDeletions({
    store,
    backlogs,
    eraser,
    log: new DeletionLog(logger()),
    hasOwnStore: audiences.store !== undefined,
  });
}

/** Providers that report what becomes of messages, and let the application act on it. */
export const DELIVERIES_PROVIDERS: Provider[] = [
  ...HISTORY_PROVIDERS,
  { provide: DeliveryEvents, inject: [BacklogCounter], useFactory: createDeliveryEvents },
  { provide: DestinationLines, useFactory: () => new DestinationLines(logger()) },
  {
    provide: EndpointLog,
    inject: [RESOLVED_OPTIONS, DeliveryEvents, TELEMETRY],
    useFactory: (
      { webhooks }: ResolvedOptions,
      { endpoints }: DeliveryEvents,
      telemetry: Telemetry | undefined,
    ) => new EndpointLog(logger(), new Set(webhooks.map(({ id }) => id)), endpoints, telemetry),
  },
  {
    provide: FailedLimit,
    inject: [RESOLVED_OPTIONS, QueuePartitions, QUEUE_BACKEND, DestinationLines, TELEMETRY],
    useFactory: createFailedLimit,
  },
  {
    provide: FailedMessages,
    inject: [BatchStore, BatchQueue, DestinationRegistry, DeletedUsers],
    useFactory: (
      store: BatchStore,
      queue: BatchQueue,
      destinations: DestinationRegistry,
      deleted: DeletedUsers,
    ) => new FailedMessages(store, queue, destinations, deleted),
  },
  {
    provide: DeletedUsers,
    inject: [QUEUE_BACKEND],
    useFactory: async ({ storage }: QueueBackend) => new DeletedUsers(await createDeletionStore(storage)),
  },
  {
    provide: UserEraser,
    inject: [RESOLVED_OPTIONS, BatchStore, BacklogCounter, QUEUE_BACKEND],
    useFactory: async (
      { audiences }: ResolvedOptions,
      store: BatchStore,
      counter: BacklogCounter,
      { storage }: QueueBackend,
    ): Promise<UserEraser> => {
      const messages = new UserMessages(store, (destination, count) => {
        counter.ended(destination, count);
      });
      const deletions = await createDeletionStore(storage);
      return new UserEraser(deletions, messages, logger(), audiences.store !== undefined);
    },
  },
  {
    provide: UnfinishedDeletions,
    inject: [RESOLVED_OPTIONS, UserEraser, QUEUE_BACKEND],
    useFactory: createUnfinishedDeletions,
  },
  {
    provide: DeliveriesService,
    inject: [
      BatchStore,
      FailedMessages,
      DestinationRegistry,
      DeliveryEvents,
      DeliveryHistory,
      ApplicationEnd,
    ],
    useFactory: (
      store: BatchStore,
      failedMessages: FailedMessages,
      destinations: DestinationRegistry,
      events: DeliveryEvents,
      history: DeliveryHistory | undefined,
      end: ApplicationEnd,
    ) => new DeliveriesService(end.guarding({ store, failedMessages, destinations, history }), events),
  },
];

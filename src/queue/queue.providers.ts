import type { Provider } from '@nestjs/common';
import { TELEMETRY, type Telemetry } from '../shared/telemetry.js';
import { RESOLVED_OPTIONS } from '../options/options.tokens.js';
import { forwardingId } from '../options/resolve-forwarding.js';
import { DEFAULT_BACKLOG_LIMIT, DEFAULT_FAILED_RETENTION } from '../options/resolve-webhooks.js';
import { hasCustomDestinations, type ResolvedOptions } from '../options/resolved-options.js';
import { BacklogCounter } from './backlog-counter.js';
import type { BacklogStore } from './backlog-store.js';
import { BacklogUpkeep } from './backlog-upkeep.js';
import { BatchQueue } from './batch-queue.js';
import { BatchStore } from './batch-store.js';
import { CompletedRetention } from './completed-retention.js';
import { FailedRetention } from './failed-retention.js';
import { createQueueBackend } from './create-queue-backend.js';
import { PartitionWatch } from './partition-watch.js';
import { ApplicationMarks } from './application-marks.js';
import { ANALYTICS_QUEUE } from './partitions.js';
import { PostgresBacklogStore } from './postgres/postgres-backlog-store.js';
import { QUEUE_BACKEND, type QueueBackend, type QueueStorage } from './queue-backend.js';
import { QueuePartitions } from './queue-partitions.js';
import { RedisBacklogStore } from './redis/redis-backlog-store.js';
import { AnalyticsLogger } from '../shared/analytics-logger.js';

/**
 * BullMQ's queue, under the token that `@InjectQueue(ANALYTICS_QUEUE)` of `@nestjs/bullmq` asks for. The token
 * is spelled out, since an application without queues of its own does not need that package.
 */
export const QUEUE = `BullQueue_${ANALYTICS_QUEUE}`;

/** Injection token of the list of BullMQ queues: all partitions in their order. */
export const ANALYTICS_QUEUES = Symbol.for('nestjs-analytics:queues');

/**
 * Maximum number of messages that wait in the queue for a destination that the options do not name, for example while a
 * deploy adds or removes it. Further messages stay in the outbox: only processes that name the destination know its
 * limit.
 */
const UNKNOWN_BACKLOG_LIMIT = 10_000;

async function watchPartitions(
  partitions: QueuePartitions,
  { storage }: QueueBackend,
  { worker }: ResolvedOptions,
): Promise<PartitionWatch> {
  const watch = new PartitionWatch(partitions, storage, { isWorker: worker });
  await watch.start();
  return watch;
}

/** Creates the store in the queue's own database. */
export function createBacklogStore(storage: QueueStorage): BacklogStore {
  return storage.kind === 'redis'
    ? new RedisBacklogStore(storage.client)
    : new PostgresBacklogStore(storage.pool);
}

/** Returns the limits of the destinations in the options, by their ids. */
function configuredLimits({ webhooks, forwarding, sources }: ResolvedOptions): Map<string, number> {
  const forwardings = forwarding === undefined ? [] : sources.map(({ name }) => forwardingId(name));
  return new Map([
    ...webhooks.map(({ id, backlogLimit }): [string, number] => [id, backlogLimit]),
    ...forwardings.map((id): [string, number] => [id, Infinity]),
  ]);
}

function limitsOf(options: ResolvedOptions): (destination: string) => number {
  const limits = configuredLimits(options);
  const { backlogLimit = DEFAULT_BACKLOG_LIMIT } = options.destinations ?? {};
  const others = hasOthers(options) ? backlogLimit : UNKNOWN_BACKLOG_LIMIT;
  return (destination) => limits.get(destination) ?? others;
}

/** Whether there are destinations beside those that the options limit. */
function hasOthers(options: ResolvedOptions): boolean {
  return options.destinations !== undefined || hasCustomDestinations(options);
}

/** Only a process with a worker removes failed jobs. */
function createFailedRetention(
  options: ResolvedOptions,
  { queues }: QueuePartitions,
  { health, jobStorage }: QueueBackend,
): FailedRetention {
  const webhooks = options.worker ? options.webhooks : [];
  const others = [
    ...(hasOthers(options) ? [DEFAULT_FAILED_RETENTION] : []),
    ...(options.forwarding === undefined ? [] : [options.forwarding.failedRetention]),
  ];
  return new FailedRetention({
    queues,
    storage: jobStorage,
    health,
    marks: new ApplicationMarks(options),
    retentions: new Map(webhooks.map(({ id, failedRetention }) => [id, failedRetention])),
    otherRetentions: options.worker ? others : [],
  });
}

/** The queue and the database under it. */
export const QUEUE_PROVIDERS: Provider[] = [
  {
    provide: QUEUE_BACKEND,
    inject: [RESOLVED_OPTIONS],
    useFactory: (options: ResolvedOptions) => createQueueBackend(options, new AnalyticsLogger()),
  },
  {
    provide: QueuePartitions,
    inject: [QUEUE_BACKEND, RESOLVED_OPTIONS],
    useFactory: (backend: QueueBackend, { partitions }: ResolvedOptions) =>
      new QueuePartitions(backend, partitions),
  },
  {
    provide: PartitionWatch,
    inject: [QueuePartitions, QUEUE_BACKEND, RESOLVED_OPTIONS],
    useFactory: watchPartitions,
  },
  { provide: QUEUE, inject: [QueuePartitions], useFactory: ({ queues }: QueuePartitions) => queues[0] },
  {
    provide: ANALYTICS_QUEUES,
    inject: [QueuePartitions],
    useFactory: ({ queues }: QueuePartitions) => queues,
  },
  {
    provide: BacklogCounter,
    inject: [RESOLVED_OPTIONS, QUEUE_BACKEND],
    useFactory: (options: ResolvedOptions, { storage }: QueueBackend) =>
      new BacklogCounter(createBacklogStore(storage), limitsOf(options)),
  },
  {
    provide: BacklogUpkeep,
    inject: [RESOLVED_OPTIONS, QueuePartitions, QUEUE_BACKEND],
    useFactory: (options: ResolvedOptions, { queues }: QueuePartitions, backend: QueueBackend) =>
      new BacklogUpkeep({
        queues,
        storage: backend.jobStorage,
        store: createBacklogStore(backend.storage),
        limitOf: limitsOf(options),
        configured: [...configuredLimits(options).keys()],
      }),
  },
  {
    provide: BatchQueue,
    inject: [RESOLVED_OPTIONS, QueuePartitions, BacklogCounter, QUEUE_BACKEND, TELEMETRY],
    useFactory: (
      options: ResolvedOptions,
      { queues, written }: QueuePartitions,
      counter: BacklogCounter,
      { memory }: QueueBackend,
      telemetry: Telemetry | undefined,
    ) =>
      new BatchQueue(queues, {
        onAdded: (destination, messages) => {
          counter.taken(destination, messages);
          telemetry?.queued(destination, messages);
        },
        onReplayed: (destination, messages) => {
          counter.returned(destination, messages);
          telemetry?.queued(destination, messages);
        },
        hasManyWaiting: (destination) => counter.hasManyWaiting(destination),
        memory,
        written,
        marks: new ApplicationMarks(options),
      }),
  },
  {
    provide: FailedRetention,
    inject: [RESOLVED_OPTIONS, QueuePartitions, QUEUE_BACKEND],
    useFactory: createFailedRetention,
  },
  {
    provide: CompletedRetention,
    inject: [RESOLVED_OPTIONS, QueuePartitions, QUEUE_BACKEND],
    useFactory: ({ worker }: ResolvedOptions, { queues }: QueuePartitions, backend: QueueBackend) =>
      new CompletedRetention({
        queues,
        storage: backend.jobStorage,
        store: createBacklogStore(backend.storage),
        health: backend.health,
        age: backend.memory.completed.age,
        isWorker: worker,
      }),
  },
  {
    provide: BatchStore,
    inject: [QueuePartitions, QUEUE_BACKEND],
    useFactory: ({ queues }: QueuePartitions, { jobStorage }: QueueBackend) =>
      new BatchStore(queues, jobStorage),
  },
];

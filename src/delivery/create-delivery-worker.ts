import { types } from 'node:util';
import type { DeletedUsers } from '../deliveries/deleted-users.js';
import type { DeliveryEvents } from '../deliveries/delivery-events.js';
import type { DestinationLines } from '../deliveries/destination-lines.js';
import type { EndpointLog } from '../deliveries/endpoint-log.js';
import type { HistoryRecorder } from '../deliveries/history/history-recorder.js';
import type { DestinationRegistry } from '../destinations/destination-registry.js';
import type { ResolvedOptions } from '../options/resolved-options.js';
import type { BacklogCounter } from '../queue/backlog-counter.js';
import type { FailedLimit } from '../queue/failed-limit.js';
import type { BatchQueue } from '../queue/batch-queue.js';
import type { QueueBackend } from '../queue/queue-backend.js';
import type { QueuePartitions } from '../queue/queue-partitions.js';
import { EventLoopTurns } from '../shared/event-loop-turns.js';
import { limitedByHeap } from '../shared/share-of-heap.js';
import type { Telemetry } from '../shared/telemetry.js';
import { BatchDelivery } from './batch-delivery.js';
import { DeliveryReporter, type MessageCounter } from './delivery-reporter.js';
import { DeliveryScheduler, type DeliverySchedulerOptions } from './delivery-scheduler.js';
import { DeliveryWorker } from './delivery-worker.js';
import { EventLoopBudget } from './event-loop-budget.js';
import { JobBudget } from './job-budget.js';
import { JobProcessor } from './job-processor.js';
import { JobSizes } from './job-sizes.js';
import { QueueWrites } from './queue-writes.js';
import { createRateLimitStore } from './rate-limits/create-rate-limit-store.js';

/** Longest timeout of a request, in milliseconds, if neither webhooks nor forwarding are configured. */
const DEFAULT_TIMEOUT = 5_000;
/** Jobs in hand for each batch of `concurrency`. The scheduler decides which of them are sent. */
const JOBS_IN_HAND = 32;
/** Most characters of the messages in hand, which may be 32 KB each. A character takes one or two bytes. */
const MAX_SIZE = 128 * 2 ** 20;
/** Share of these characters for jobs that wait for their destination to be looked up. */
const SHARE_OF_LOOKUPS = 1 / 4;
/** The same for the number of jobs in hand: a slow store must leave places to others. */
const JOBS_SHARE_OF_LOOKUPS = 1 / 2;

export interface DeliveryWorkerParts {
  destinations: DestinationRegistry;
  queue: BatchQueue;
  backend: QueueBackend;
  partitions: QueuePartitions;
  counter: BacklogCounter;
  failedLimit: FailedLimit;
  deleted: DeletedUsers;
  endpoints: EndpointLog;
  lines: DestinationLines;
  events: DeliveryEvents;
  history: HistoryRecorder | undefined;
  telemetry: Telemetry | undefined;
}

export async function createDeliveryWorker(
  options: ResolvedOptions,
  parts: DeliveryWorkerParts,
): Promise<DeliveryWorker> {
  const { destinations, queue, backend, partitions, deleted } = parts;
  const maxSize = limitedByHeap(MAX_SIZE);
  const jobs = options.concurrency * JOBS_IN_HAND;
  const lookedUpFor = new JobSizes();
  const scheduler = await createScheduler(options, parts, {
    jobs,
    maxSize,
    lookedUpFor,
    promote: (key) => worker.promote(key),
  });
  const reporter = createReporter(parts);
  const deliveries = new BatchDelivery({
    destinations,
    scheduler,
    reporter,
    deleted,
    queue,
    lookedUpFor,
    maxLookedUpFor: { jobs: jobs * JOBS_SHARE_OF_LOOKUPS, size: maxSize * SHARE_OF_LOOKUPS },
  });
  const processor = new JobProcessor({
    deliveries,
    scheduler,
    queue,
    writes: new QueueWrites((error) => {
      if (types.isNativeError(error)) backend.health.report(error);
    }),
    reporter,
    deleted,
    turns: new EventLoopTurns(),
    unknownJobTimeout: options.unknownJobTimeout,
  });
  const worker = new DeliveryWorker(backend, partitions, processor, {
    scheduler,
    budget: new JobBudget(jobs, maxSize),
    timeout: longestTimeout(options),
  });
  return worker;
}

async function createScheduler(
  { concurrency, connections, connection }: ResolvedOptions,
  { backend }: DeliveryWorkerParts,
  limits: Pick<DeliverySchedulerOptions, 'jobs' | 'maxSize' | 'lookedUpFor' | 'promote'>,
): Promise<DeliveryScheduler> {
  return new DeliveryScheduler({
    requests: concurrency * connections,
    connections,
    eventLoop: new EventLoopBudget(),
    batches: concurrency,
    rateLimits: await createRateLimitStore(backend, connection.kind === 'embedded'),
    ...limits,
  });
}

function createReporter({
  endpoints,
  lines,
  events: { outcomes },
  counter,
  failedLimit,
  history,
  telemetry,
}: DeliveryWorkerParts): DeliveryReporter {
  const counters: MessageCounter = {
    ended: (destination, messages) => {
      counter.ended(destination, messages);
    },
    failed: (destination, messages) => {
      failedLimit.failed(destination, messages);
    },
  };
  return new DeliveryReporter(endpoints, outcomes, lines, counters, history, telemetry);
}

function longestTimeout({ webhooks, forwarding }: ResolvedOptions): number {
  const timeouts = webhooks.map(({ timeout }) => timeout);
  if (forwarding !== undefined) timeouts.push(forwarding.timeout);
  return timeouts.length === 0 ? DEFAULT_TIMEOUT : Math.max(...timeouts);
}

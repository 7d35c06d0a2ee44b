import type { DestinationRegistry } from '../destinations/destination-registry.js';
import type { ResolvedOptions } from '../options/resolved-options.js';
import { BatchQueue } from '../queue/batch-queue.js';
import { ANALYTICS_QUEUE } from '../queue/queue.constants.js';
import type { BatchJobQueue, QueueBackend } from '../queue/queue-backend.js';
import { BatchAttempts } from './batch-attempts.js';
import { BatchProcessor } from './batch-processor.js';
import type { DeliveryReporter } from './delivery-reporter.js';
import { DeliverySlots } from './delivery-slots.js';
import { DeliveryWorker } from './delivery-worker.js';
import { JobProcessor } from './job-processor.js';
import { SharedJobProcessor } from './shared-job-processor.js';

/** In milliseconds, where no destination says otherwise. */
const DEFAULT_TIMEOUT = 5_000;

/** Builds the worker of this process. */
export function createDeliveryWorker(
  options: ResolvedOptions,
  destinations: DestinationRegistry,
  reporter: DeliveryReporter,
  queue: BatchJobQueue,
  backend: QueueBackend,
): DeliveryWorker {
  const { concurrency } = options;
  const attempts = new BatchAttempts(new DeliverySlots(concurrency), reporter);
  const processor = new JobProcessor(
    new BatchProcessor(destinations, attempts, reporter),
    new SharedJobProcessor(destinations, attempts, new BatchQueue(queue), reporter),
    reporter,
  );
  return new DeliveryWorker(backend, ANALYTICS_QUEUE, processor, {
    concurrency,
    timeout: longestTimeout(options),
  });
}

function longestTimeout({ webhooks, forwarding }: ResolvedOptions): number {
  const timeouts = webhooks.map(({ timeout }) => timeout);
  if (forwarding !== undefined) timeouts.push(forwarding.timeout);
  return timeouts.length === 0 ? DEFAULT_TIMEOUT : Math.max(...timeouts);
}

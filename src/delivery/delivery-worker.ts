import { types } from 'node:util';
import type { BatchJobWorker, BatchWorkerOptions, QueueBackend } from '../queue/queue-backend.js';
import type { JobProcessor } from './job-processor.js';
import { RetryLater } from './job-outcome.errors.js';

/** Shortest lock: a shorter one would be lost to a busy event loop. */
const MIN_LOCK = 1_000;
/** How long a worker waits before it asks an unreachable queue again, in milliseconds. */
const RUN_RETRY_DELAY = 1_000;
/** A job that failed for a reason of its own, such as a queue lost in mid-write, is tried again after this. */
const UNEXPECTED_RETRY_DELAY = 5_000;
/** How often a job may be found without its worker: a crash is never the message's fault. */
const MAX_STALLED_COUNT = 2 ** 31 - 1;

/**
 * Jobs in hand for each batch that is delivered at once: those that wait for a slot, and those whose receiver
 * hangs and that no longer hold one.
 */
const PREFETCH = 4;

export interface DeliveryWorkerOptions {
  /** Batches that are delivered at once. */
  concurrency: number;
  /** The longest deadline of a request, in milliseconds: the lock and stall times follow from it. */
  timeout: number;
}

/** Takes jobs from the queue and has them delivered. */
export class DeliveryWorker {
  private readonly worker: BatchJobWorker;
  /** One for all jobs: BullMQ would make one for each. */
  private readonly cancellation = new AbortController();

  constructor(
    private readonly backend: QueueBackend,
    queueName: string,
    processor: JobProcessor,
    options: DeliveryWorkerOptions,
  ) {
    const lockDuration = Math.max(2 * options.timeout, MIN_LOCK);
    const workerOptions: BatchWorkerOptions = {
      autorun: false,
      concurrency: options.concurrency * PREFETCH,
      lockDuration,
      stalledInterval: lockDuration / 2,
      maxStalledCount: MAX_STALLED_COUNT,
      runRetryDelay: RUN_RETRY_DELAY,
      settings: {
        backoffStrategy: (_attempts, _type, error) =>
          error instanceof RetryLater ? Math.max(error.at - Date.now(), 1) : UNEXPECTED_RETRY_DELAY,
      },
    };
    const { signal } = this.cancellation;
    this.worker = backend.createWorker(
      queueName,
      (job, token) => processor.process(job, token, signal),
      workerOptions,
    );
    this.worker.on('error', (error) => {
      backend.health.report(error);
    });
  }

  start(): void {
    this.worker.run().catch((error: unknown) => {
      this.report(error);
    });
  }

  /** Takes no more jobs; resolves when those in flight are finished, to whether they are. */
  async pause(): Promise<boolean> {
    try {
      await this.worker.pause();
      return true;
    } catch (error) {
      this.report(error);
      return false;
    }
  }

  /** Breaks off the jobs in flight: each puts itself back and ends. */
  cancel(): void {
    this.cancellation.abort();
  }

  /** @param force does not wait for the queue, which may be away */
  async close(force: boolean): Promise<void> {
    await this.worker.close(force);
  }

  private report(error: unknown): void {
    if (types.isNativeError(error)) this.backend.health.report(error);
  }
}

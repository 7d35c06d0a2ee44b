import { types } from 'node:util';
import {
  ANALYTICS_QUEUE,
  type BatchJobWorker,
  type BatchWorkerOptions,
  type QueueBackend,
} from '../queue/queue-backend.js';
import type { DeliveryScheduler } from './delivery-scheduler.js';
import type { JobProcessor } from './job-processor.js';
import { RetryLater } from './job-outcome.errors.js';

/** Shortest lock, in milliseconds: an event loop that stalls for two seconds must not lose one. */
const MIN_LOCK = 6_000;
/** How long a worker waits before it tries an unreachable queue again, in milliseconds. */
const RUN_RETRY_DELAY = 1_000;
/**
 * A job that failed because of this module or the queue, such as a queue lost in mid-write, is tried again
 * after this many milliseconds.
 */
const UNEXPECTED_RETRY_DELAY = 5_000;
/** How often a job may be found without its worker. A crash is never the message's fault. */
const MAX_STALLED_COUNT = 2 ** 31 - 1;

export interface DeliveryWorkerOptions {
  scheduler: Pick<DeliveryScheduler, 'start' | 'stop'>;
  /** Jobs in hand: those being delivered, and those waiting for their turn. */
  jobs: number;
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
    processor: JobProcessor,
    private readonly options: DeliveryWorkerOptions,
  ) {
    const lockDuration = Math.max(2 * options.timeout, MIN_LOCK);
    const workerOptions: BatchWorkerOptions = {
      autorun: false,
      concurrency: options.jobs,
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
      ANALYTICS_QUEUE,
      (job, token) => processor.process({ job, token, signal }),
      workerOptions,
    );
    this.worker.on('error', (error) => {
      backend.health.report(error);
    });
  }

  /** Whether it takes jobs. */
  get isRunning(): boolean {
    return this.worker.isRunning() && !this.worker.isPaused();
  }

  start(): void {
    this.options.scheduler.start();
    this.worker.run().catch((error: unknown) => {
      this.report(error);
    });
  }

  /** Takes no more jobs. Resolves when those in hand are finished, to whether they are. */
  async pause(): Promise<boolean> {
    this.options.scheduler.stop();
    try {
      await this.worker.pause();
      return true;
    } catch (error) {
      this.report(error);
      return false;
    }
  }

  /** Breaks off the jobs in hand. Each one puts itself back and ends. */
  cancel(): void {
    this.cancellation.abort();
  }

  /** @param force does not wait for the queue, which may be unreachable */
  async close(force: boolean): Promise<void> {
    await this.worker.close(force);
  }

  private report(error: unknown): void {
    if (types.isNativeError(error)) this.backend.health.report(error);
  }
}

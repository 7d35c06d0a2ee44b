import { setMaxListeners } from 'node:events';
import { types } from 'node:util';
import { Job } from 'bullmq';
import { BATCH_JOB_VERSION, type BatchJobData, JOB_NAME } from '../queue/batch-job.js';
import { jobOfKey } from '../queue/partitions.js';
import type { BatchJobWorker, BatchWorkerOptions, QueueBackend } from '../queue/queue-backend.js';
import type { QueuePartitions } from '../queue/queue-partitions.js';
import type { DeliveryScheduler } from './delivery-scheduler.js';
import { HandedOutJobs } from './handed-out-jobs.js';
import type { JobBudget } from './job-budget.js';
import type { JobProcessor } from './job-processor.js';
import { RetryLater } from './job-outcome.errors.js';

/** Shortest lock, in milliseconds: an event loop that stalls for two seconds must not lose one. */
const MIN_LOCK = 6_000;
/**
 * Longest lock, in milliseconds. A lock is renewed for as long as a request takes. After a crash, all jobs that the
 * worker had in hand, for whichever destination, wait until their locks expire.
 */
const MAX_LOCK = 30_000;
/** How long a worker waits before it tries an unreachable queue again, in milliseconds. */
const RUN_RETRY_DELAY = 1_000;
/**
 * A job that failed because of this module or the queue, such as a queue lost in mid-write, is tried again
 * after this many milliseconds.
 */
const UNEXPECTED_RETRY_DELAY = 5_000;
/** How often a job may stall, which means that its worker is gone. A crash is never the message's fault. */
const MAX_STALLED_COUNT = 2 ** 31 - 1;
const NO_DATA: BatchJobData = { v: BATCH_JOB_VERSION, batches: [] };

export interface DeliveryWorkerOptions {
  scheduler: Pick<DeliveryScheduler, 'start' | 'stop'>;
  /** Divides the jobs in hand: those being delivered, and those waiting for their turn. */
  budget: JobBudget;
  /** The longest deadline of a request, in milliseconds: the lock and stall times follow from it. */
  timeout: number;
}

/** Takes jobs from all partitions of the queue and has them delivered. */
export class DeliveryWorker {
  /** One worker for each partition. */
  private readonly workers: BatchJobWorker[] = [];
  /** One controller for all jobs: BullMQ would make one for each job. */
  private readonly cancellation = new AbortController();
  private state: 'new' | 'running' | 'ending' = 'new';

  constructor(
    private readonly backend: QueueBackend,
    partitions: QueuePartitions,
    private readonly processor: JobProcessor,
    private readonly options: DeliveryWorkerOptions,
  ) {
    // Any number of calls and look-ups may listen to this signal, which is no leak.
    setMaxListeners(0, this.cancellation.signal);
    for (const partition of partitions.queues.keys()) this.open(partition);
    partitions.observe((partition) => {
      if (this.state !== 'ending') this.open(partition);
    });
  }

  /** Whether the worker takes jobs. */
  get isRunning(): boolean {
    return this.workers.every((worker) => worker.isRunning() && !worker.isPaused());
  }

  start(): void {
    this.state = 'running';
    this.options.scheduler.start();
    for (const worker of this.workers) this.run(worker);
  }

  /** Takes no more jobs. Resolves to `true` once the jobs in hand are finished, or to `false` if that fails. */
  async pause(): Promise<boolean> {
    this.state = 'ending';
    this.options.scheduler.stop();
    try {
      await Promise.all(this.workers.map((worker) => worker.pause()));
      return true;
    } catch (error) {
      this.report(error);
      return false;
    }
  }

  /**
   * Makes the queue hand out a put-back job now. Rejects if the job is not delayed any more.
   *
   * @param key key of the job, which may be in a partition that this process does not add to
   */
  async promote(key: string): Promise<void> {
    const { partition, jobId } = jobOfKey(key);
    const worker = this.workers[partition];
    // The job is not read from the queue, since its data may be a megabyte.
    if (worker !== undefined) await new Job(worker, JOB_NAME, NO_DATA, {}, jobId).promote();
  }

  /** Breaks off the jobs in hand. Each one puts itself back and ends. */
  cancel(): void {
    this.cancellation.abort();
  }

  /** @param force whether to close without waiting for the queue, which may be unreachable */
  async close(force: boolean): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.close(force)));
  }

  private open(partition: number): void {
    const { timeout, budget } = this.options;
    const lockDuration = Math.min(Math.max(2 * timeout, MIN_LOCK), MAX_LOCK);
    const workerOptions: BatchWorkerOptions = {
      autorun: false,
      look: (look) => budget.look(worker, look),
      end: (isWanted, end) => budget.end(worker, isWanted, end),
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
    const handedOut = new HandedOutJobs();
    const worker = this.backend.createWorker(
      partition,
      async (job, token) => {
        const place = budget.take(worker, job);
        const { id = token ?? '' } = job;
        const putBack = (): void => {
          handedOut.recorded(id);
          place.putBack();
        };
        try {
          // The job is being delivered already, so it does not wait for its turn.
          if (handedOut.has(id)) place.begin();
          await handedOut.deliver(id, () =>
            this.processor.process({ job, partition, token, signal, size: 0, place: { ...place, putBack } }),
          );
        } finally {
          place.leave();
        }
      },
      workerOptions,
    );
    const onRecorded = (job: { id?: string | undefined } | undefined): void => {
      if (job?.id !== undefined) handedOut.recorded(job.id);
    };
    worker.on('completed', onRecorded);
    worker.on('failed', (job) => {
      onRecorded(job);
      budget.ended(worker, job);
    });
    worker.on('error', (error) => {
      this.backend.health.report(error);
    });
    this.workers.push(worker);
    budget.join(worker);
    if (this.state === 'running') this.run(worker);
  }

  private run(worker: BatchJobWorker): void {
    worker.run().catch((error: unknown) => {
      this.report(error);
    });
  }

  private report(error: unknown): void {
    if (types.isNativeError(error)) this.backend.health.report(error);
  }
}

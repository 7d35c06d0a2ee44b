import type { JobsOptions } from 'bullmq';
import {
  BATCH_JOB_VERSION,
  type JobTerms,
  type LeftBatch,
  type NewJob,
  type QueuedBatch,
} from './batch-job.js';
import type { BatchJobQueue } from './queue-backend.js';

/** More attempts than any retry window holds; PostgreSQL cannot store a larger number. */
const ATTEMPTS = 2 ** 31 - 1;
/**
 * Completed jobs are remembered for a while, so that adding one again is harmless: more than one add holds.
 * Not many more, since PostgreSQL looks at all of them whenever a job finishes.
 */
const COMPLETED_AGE_SECONDS = 600;
const COMPLETED_COUNT = 100;

const JOB_NAME = 'batch';

type JobToAdd = Parameters<BatchJobQueue['addBulk']>[0][number];

/** Adds batches to the queue as jobs. */
export class BatchQueue {
  constructor(private readonly queue: BatchJobQueue) {}

  /** Resolves once all of the jobs are in the queue. */
  add(jobs: readonly NewJob[]): Promise<void> {
    return this.addJobs(jobs.map((job) => jobOf(batchesOf(job), optionsOf(job))));
  }

  /**
   * The same for what was left of batches: each is due when it may be tried again. What is due at once goes
   * to the front: it has waited before.
   */
  putBack(left: readonly LeftBatch[]): Promise<void> {
    const now = Date.now();
    return this.addJobs(
      left.map(({ batch, ...terms }) => {
        const delay = Math.max((batch.notBefore ?? now) - now, 0);
        return jobOf([batch], { ...optionsOf(terms), ...(delay > 0 ? { delay } : { lifo: true }) });
      }),
    );
  }

  private async addJobs(jobs: JobToAdd[]): Promise<void> {
    const [job] = jobs;
    // For a single job, a bulk would only cost more.
    if (job !== undefined && jobs.length === 1) await this.queue.add(job.name, job.data, job.opts);
    else await this.queue.addBulk(jobs);
  }
}

function jobOf(batches: QueuedBatch[], opts: JobsOptions): JobToAdd {
  return { name: JOB_NAME, data: { v: BATCH_JOB_VERSION, batches }, opts };
}

function batchesOf({ batches }: NewJob): QueuedBatch[] {
  return batches.map(({ destination, source, messages }) => ({
    destination,
    source,
    messages: messages.map(({ id, body }) => ({ id, body, outcomes: [] })),
  }));
}

function optionsOf({ jobId, failedRetention }: JobTerms): JobsOptions {
  return {
    jobId,
    attempts: ATTEMPTS,
    backoff: { type: 'custom' },
    stackTraceLimit: 1,
    removeOnComplete: { age: COMPLETED_AGE_SECONDS, count: COMPLETED_COUNT },
    removeOnFail: { age: Math.ceil(failedRetention / 1000) },
  };
}

import type { JobsOptions } from 'bullmq';
import { BATCH_JOB_VERSION, type BatchJobData, type NewBatch } from './batch-job.js';
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

/** Adds batches to the queue as jobs. */
export class BatchQueue {
  constructor(private readonly queue: BatchJobQueue) {}

  /** Resolves once all of the batches are in the queue. */
  async add(batches: readonly NewBatch[]): Promise<void> {
    const [batch] = batches;
    // For a single job, a bulk would only cost more.
    if (batch !== undefined && batches.length === 1) {
      await this.queue.add(JOB_NAME, dataOf(batch), optionsOf(batch));
      return;
    }
    await this.queue.addBulk(
      batches.map((one) => ({ name: JOB_NAME, data: dataOf(one), opts: optionsOf(one) })),
    );
  }
}

function dataOf({ destination, source, messages }: NewBatch): BatchJobData {
  return {
    v: BATCH_JOB_VERSION,
    destination,
    source,
    messages: messages.map(({ id, body }) => ({ id, body, outcomes: [] })),
  };
}

function optionsOf({ jobId, failedRetention }: NewBatch): JobsOptions {
  return {
    jobId,
    attempts: ATTEMPTS,
    backoff: { type: 'custom' },
    stackTraceLimit: 1,
    removeOnComplete: { age: COMPLETED_AGE_SECONDS, count: COMPLETED_COUNT },
    removeOnFail: { age: Math.ceil(failedRetention / 1000) },
  };
}

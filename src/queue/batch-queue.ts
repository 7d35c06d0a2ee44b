import { BATCH_JOB_VERSION, type NewBatch } from './batch-job.js';
import type { BatchJobQueue } from './queue-backend.js';

/** More attempts than any retry window holds; PostgreSQL cannot store a larger number. */
const ATTEMPTS = 2 ** 31 - 1;
/**
 * Completed jobs are remembered for a while, so that adding one again is harmless: more than one add holds.
 * Not many more, since PostgreSQL looks at all of them whenever a job finishes.
 */
const COMPLETED_AGE_SECONDS = 600;
const COMPLETED_COUNT = 200;

/** Adds batches to the queue as jobs. */
export class BatchQueue {
  constructor(private readonly queue: BatchJobQueue) {}

  /** Resolves once all of the batches are in the queue. */
  async add(batches: readonly NewBatch[]): Promise<void> {
    await this.queue.addBulk(
      batches.map((batch) => ({
        name: 'batch',
        data: {
          v: BATCH_JOB_VERSION,
          destination: batch.destination,
          source: batch.source,
          messages: batch.messages.map(({ id, body }) => ({ id, body, outcomes: [] })),
        },
        opts: {
          jobId: batch.jobId,
          attempts: ATTEMPTS,
          backoff: { type: 'custom' },
          stackTraceLimit: 1,
          removeOnComplete: { age: COMPLETED_AGE_SECONDS, count: COMPLETED_COUNT },
          removeOnFail: { age: Math.ceil(batch.failedRetention / 1000) },
        },
      })),
    );
  }
}

import { InvalidJobError } from '../errors/delivery.errors.js';
import { failedRetentionOf, type QueuedBatch } from './batch-job.js';
import type { JobProblem } from './read-job.js';

/** A job as the queue holds it. */
export interface StoredJob {
  jobId: string;
  /** When a producer added it, in milliseconds since the epoch. */
  addedAt: number;
  /** Empty if the job cannot be read. */
  batches: QueuedBatch[];
  /** Why the job cannot be read, and its data as JSON. */
  unreadable: { problem: JobProblem; json: string } | undefined;
  /** Why the job failed for good; begins with a stable code. */
  failedReason: string | undefined;
  /** When the job failed for good, in milliseconds since the epoch. */
  failedAt: number | undefined;
  /** Milliseconds that the job is kept if it fails for good. */
  failedRetention: number;
}

/** Returns a job whose options or progress are not JSON. */
export function unparsable(jobId: string): StoredJob {
  return {
    jobId,
    addedAt: 0,
    batches: [],
    unreadable: { problem: new InvalidJobError('opts', 'JSON'), json: '' },
    failedReason: undefined,
    failedAt: undefined,
    failedRetention: failedRetentionOf({}),
  };
}

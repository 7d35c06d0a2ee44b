import type { QueuedBatch } from '../queue/batch-job.js';
import type { BatchJob } from './job-in-hand.js';

/**
 * What the queue keeps of a job beside its data. Because it is small, it is written in cases that would otherwise
 * require writing the data again.
 */
interface JobProgress {
  /** When a batch was first put off without a request, in milliseconds since the epoch. */
  firstAttemptAt?: number;
  /** When a worker first left the job to others, in milliseconds since the epoch. */
  unknownSince?: number;
}

/** Returns the progress of a job. Anyone with access to the queue may have written it. */
export function progressOf(job: BatchJob): JobProgress {
  const progress: unknown = job.progress;
  if (typeof progress !== 'object' || progress === null) return {};
  const times = Object.entries(progress).filter(([, value]) => typeof value === 'number');
  return Object.fromEntries(times);
}

export async function addProgress(job: BatchJob, progress: JobProgress): Promise<void> {
  await job.updateProgress({ ...progressOf(job), ...progress });
}

/** Notes that a worker knows the job. Workers that do not know it may meet it again at each of its retries. */
export async function forgetUnknown(job: BatchJob): Promise<void> {
  const { unknownSince, ...progress } = progressOf(job);
  if (unknownSince !== undefined) await job.updateProgress(progress);
}

/** Returns a batch with the time of its first attempt, which may be only in the progress of its job. */
export function withFirstAttempt(batch: QueuedBatch, job: BatchJob): QueuedBatch {
  const { firstAttemptAt = progressOf(job).firstAttemptAt } = batch;
  return firstAttemptAt === undefined ? batch : { ...batch, firstAttemptAt };
}

import type { QueuedBatch } from '../queue/batch-job.js';
import type { BatchJob } from './job-in-hand.js';

/**
 * What the queue keeps of a job beside its data. It is small, so it is written where the data would otherwise
 * have to be written again.
 */
interface JobProgress {
  /** When a batch that no request was made for was put off, in milliseconds since the epoch. */
  firstAttemptAt?: number;
  /** When a worker first left the job to others, in milliseconds since the epoch. */
  unknownSince?: number;
}

/** Anyone with access to the queue may have written it. */
export function progressOf(job: BatchJob): JobProgress {
  const progress: unknown = job.progress;
  if (typeof progress !== 'object' || progress === null) return {};
  const times = Object.entries(progress).filter(([, value]) => typeof value === 'number');
  return Object.fromEntries(times);
}

export async function addProgress(job: BatchJob, progress: JobProgress): Promise<void> {
  await job.updateProgress({ ...progressOf(job), ...progress });
}

/** A worker knows the job. Others that do not may meet it again at each of its retries. */
export async function forgetUnknown(job: BatchJob): Promise<void> {
  const { unknownSince, ...progress } = progressOf(job);
  if (unknownSince !== undefined) await job.updateProgress(progress);
}

/** A batch with the time of its first attempt, where only the progress of its job tells that. */
export function withFirstAttempt(batch: QueuedBatch, job: BatchJob): QueuedBatch {
  const { firstAttemptAt = progressOf(job).firstAttemptAt } = batch;
  return firstAttemptAt === undefined ? batch : { ...batch, firstAttemptAt };
}

import type { JobsOptions } from 'bullmq';
import type { QueuedMessage } from '../destinations/destination.js';

/** Version of the format of a job's data; a worker refuses a version that it does not know. */
export const BATCH_JOB_VERSION = 2;

/** What a job is kept for that does not say so, in seconds: a week. */
const DEFAULT_RETENTION_SECONDS = 604_800;

/** A message of a job. One that failed for good stays with its batch until the rest of it is settled. */
export interface BatchMessage extends QueuedMessage {
  /** When the message failed for good, in milliseconds since the epoch. */
  failedAt?: number;
}

/** Messages of one source for one destination. */
export interface QueuedBatch {
  /** The destination's id; its URLs, headers and secrets are looked up by the worker. */
  destination: string;
  /** Name of the source. */
  source: string;
  messages: BatchMessage[];
  /** When the first attempt began, in milliseconds since the epoch: retries are counted from here. */
  firstAttemptAt?: number;
  /** Not to be tried before, in milliseconds since the epoch. */
  notBefore?: number;
}

/**
 * Data of a job: one batch, or on the way to their first attempt several that were flushed together. What
 * is not delivered by then goes on in jobs of its own, so that no destination ever waits for another.
 *
 * Only arrays, strings and numbers, since PostgreSQL keeps it as `jsonb`, which does not keep the order of
 * keys: a body is one string.
 */
export interface BatchJobData {
  v: number;
  batches: QueuedBatch[];
}

/** What a producer knows of a batch. */
export interface NewBatch {
  destination: string;
  source: string;
  messages: readonly { id: string; body: string }[];
}

/** How a job is named and kept. */
export interface JobTerms {
  /** Makes adding it again harmless. Holds no `:` and is no integer, as BullMQ asks. */
  jobId: string;
  /** Milliseconds that the job is kept if it fails for good. */
  failedRetention: number;
}

/** What a producer hands to the queue: batches that share a job until their first attempt. */
export interface NewJob extends JobTerms {
  batches: readonly NewBatch[];
}

/** What an attempt left of a batch that shared its job, and goes on alone. */
export interface LeftBatch extends JobTerms {
  batch: QueuedBatch;
}

/** Milliseconds that a job is kept if it fails for good. */
export function failedRetentionOf({ removeOnFail: kept }: JobsOptions): number {
  const age = typeof kept === 'object' && 'age' in kept ? kept.age : undefined;
  return (age ?? DEFAULT_RETENTION_SECONDS) * 1000;
}

import type { QueuedMessage } from '../destinations/destination.js';

/** Version of the format of a job's data; a worker refuses a version that it does not know. */
export const BATCH_JOB_VERSION = 1;

/** A message of a job. One that failed for good stays with its job until the rest of it is settled. */
export interface BatchMessage extends QueuedMessage {
  /** When the message failed for good, in milliseconds since the epoch. */
  failedAt?: number;
}

/**
 * Data of a job: one batch of one source for one destination. Only arrays, strings and numbers, since
 * PostgreSQL keeps it as `jsonb`, which does not keep the order of keys: a body is one string.
 */
export interface BatchJobData {
  v: number;
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

/** What a producer knows of a batch when it hands it to the queue. */
export interface NewBatch {
  /** Makes adding it again harmless. Holds no `:` and is no integer, as BullMQ asks. */
  jobId: string;
  destination: string;
  source: string;
  messages: readonly { id: string; body: string }[];
  /** Milliseconds that the job is kept if it fails for good. */
  failedRetention: number;
}

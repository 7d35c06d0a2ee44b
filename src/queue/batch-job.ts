import type { JobsOptions } from 'bullmq';
import type { CallTrace } from '../shared/telemetry.js';

/**
 * Version of the format of a job's data. Each version also reads the previous format, so that a deploy leaves
 * no job unread. A worker leaves jobs in a newer format to others.
 */
export const BATCH_JOB_VERSION = 3;

/** Name of every job. */
export const JOB_NAME = 'batch';

/** Version of job data in which no messages share a body. Workers of the previous version read it as well. */
export const UNSHARED_BODIES_VERSION = 2;

/** Seconds that a failed job is kept if its options do not say: a week. */
const DEFAULT_RETENTION_SECONDS = 604_800;

/** The result of an attempt at one URL: delivered, worth another attempt, or failed for good. */
export type OutcomeClass = 'delivered' | 'retry' | 'permanent';

/** The answer of one URL to the latest attempt of one message. */
export interface UrlOutcome {
  /**
   * A hash of the URL, since URLs may carry secrets and are never stored. If the destination has no URL, the
   * destination's id.
   */
  url: string;
  class: OutcomeClass;
  /** Status of the response, if there was one. */
  status?: number;
  /** Code of the error, if there was no response: `TIMEOUT`, `ECONNREFUSED`, … */
  error?: string;
  /**
   * The beginning of the response body, or of a custom destination's error, as text. At most 1 KiB, and less in the
   * queue if the excerpts of the whole job are long.
   */
  excerpt?: string;
  /** Number of this attempt among those of the message at this URL, from 1. */
  attempt: number;
  /** When the attempt began, in milliseconds since the epoch. */
  at: number;
  /** How long the attempt took, in milliseconds. */
  duration: number;
}

/** A message in the queue: serialised once, with the answers of the URLs so far. */
export interface QueuedMessage {
  /** The messageId. */
  id: string;
  /** The exact bytes to send, as the JSON text that was made at the call. */
  body: string;
  outcomes: UrlOutcome[];
  /** Tenant that the event belongs to, if any. Older versions write none, and their workers drop it. */
  tenant?: string;
  /** Trace of the call that made the message, if the application has telemetry. Workers of older versions drop it. */
  call?: CallTrace;
}

/** A message of a job. A message that failed for good stays in its batch until the rest of the batch is settled. */
export interface BatchMessage extends QueuedMessage {
  /** When the message failed for good, in milliseconds since the epoch. */
  failedAt?: number;
  /** Id of the job that delivers it again: see `PartitionStore.assignReplays`. Older versions write none. */
  replay?: string;
}

/** Messages of one source for one destination. */
export interface QueuedBatch {
  /** The destination's id; its URLs, headers and secrets are looked up by the worker. */
  destination: string;
  /** Name of the source. */
  source: string;
  /** Marks by which an application knows its own batches: see `ApplicationMarks`. Older versions write none. */
  marks?: string[];
  messages: BatchMessage[];
  /** When the first attempt began, in milliseconds since the epoch: the retry window begins here. */
  firstAttemptAt?: number;
  /** Earliest time of the next attempt, in milliseconds since the epoch. */
  notBefore?: number;
}

/**
 * Data of a job: one batch, or, until the first attempt, several batches that were flushed together. After
 * that attempt, the rest of each batch goes on in a job of its own, so that no destination waits for another.
 * The data consists of arrays, strings and numbers, and a body is one string, because PostgreSQL stores the data
 * as `jsonb`, which does not keep the order of keys. A body that messages share is stored once: see `storedData`.
 */
export interface BatchJobData {
  v: number;
  batches: QueuedBatch[];
}

/** Returns the number of characters in the bodies, which take nearly all of the room in memory and in the queue. */
export function sizeOfBodies(messages: readonly QueuedMessage[]): number {
  let size = 0;
  for (const { body } of messages) size += body.length;
  return size;
}

/** Returns the messages of a batch that still wait. The others failed for good. */
export function openMessages({ messages }: QueuedBatch): readonly BatchMessage[] {
  // Hardly any batch has failed messages.
  return messages.some(hasFailed) ? messages.filter((message) => !hasFailed(message)) : messages;
}

function hasFailed({ failedAt }: BatchMessage): boolean {
  return failedAt !== undefined;
}

/** What a producer knows of a message. */
export type NewMessage = Pick<QueuedMessage, 'id' | 'body'> & {
  [Key in 'tenant' | 'call']?: QueuedMessage[Key] | undefined;
};

/** What a producer knows of a batch. */
export interface NewBatch {
  destination: string;
  source: string;
  /** Marks from its own application, if this process may not know the destination. @default those of this process */
  marks?: string[] | undefined;
  messages: readonly NewMessage[];
}

/** How a job is named, and how long it is kept. */
export interface JobTerms {
  /** Id that makes it harmless to add the job again: see `jobIdOf`. */
  jobId: string;
  /** Milliseconds that the job is kept if it fails for good. */
  failedRetention: number;
}

/** What a producer hands to the queue: batches that share a job until their first attempt. */
export interface NewJob extends JobTerms {
  batches: readonly NewBatch[];
}

/** The rest of a batch after an attempt in a shared job. It goes on in a job of its own. */
export interface LeftBatch extends JobTerms {
  batch: QueuedBatch;
  /** When the batch is due again, in milliseconds since the epoch; `undefined` for at once. */
  dueAt: number | undefined;
}

/**
 * Returns the milliseconds that a job is kept if it fails for good. Anyone with access to the queue may have written
 * its options.
 */
export function failedRetentionOf({ removeOnFail: kept }: JobsOptions): number {
  const age: unknown = typeof kept === 'object' && 'age' in kept ? kept.age : undefined;
  const seconds = typeof age === 'number' && age >= 0 ? age : DEFAULT_RETENTION_SECONDS;
  return Math.min(seconds * 1000, Number.MAX_SAFE_INTEGER);
}

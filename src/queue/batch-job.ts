import type { JobsOptions } from 'bullmq';
import type { CallTrace } from '../shared/telemetry.js';

/**
 * Version of the format of a job's data. When the format changes, the new version reads the one before, so
 * that a deploy leaves no job unread. A worker leaves jobs in a newer format to others.
 */
export const BATCH_JOB_VERSION = 3;

/** Name of every job. */
export const JOB_NAME = 'batch';

/** Version of data in which no messages share a body. Workers of the version before read them as well. */
export const UNSHARED_BODIES_VERSION = 2;

/** How long a job is kept if it does not say so itself, in seconds: a week. */
const DEFAULT_RETENTION_SECONDS = 604_800;

/** The result of an attempt at one URL: delivered, worth another attempt, or failed for good. */
export type OutcomeClass = 'delivered' | 'retry' | 'permanent';

/** The answer of one URL to the latest attempt of one message. */
export interface UrlOutcome {
  /**
   * A hash of the URL: URLs may carry secrets, so they are never stored. The id of a destination that has no
   * URL.
   */
  url: string;
  class: OutcomeClass;
  /** Status of the response, if there was one. */
  status?: number;
  /** Code of the error, if there was no response: `TIMEOUT`, `ECONNREFUSED`, … */
  error?: string;
  /**
   * The first bytes of the response body, as text; of a custom destination, those of its error: at most 1 KiB, and fewer in
   * the queue where those of a whole job are long.
   */
  excerpt?: string;
  /** Which attempt of the message at this URL this was, from 1. */
  attempt: number;
  /** When the attempt began, in milliseconds since the epoch. */
  at: number;
  /** How long the attempt took, in milliseconds. */
  duration: number;
}

/** A message in the queue: serialised once, with what the URLs answered so far. */
export interface QueuedMessage {
  /** The messageId. */
  id: string;
  /** The exact bytes to send, as the JSON text that was made at the call. */
  body: string;
  outcomes: UrlOutcome[];
  /** Whose event it is, if anybody's. Older versions write none, and their workers drop it. */
  tenant?: string;
  /** Of the call that made it, in an application that measures. Workers of older versions drop it. */
  call?: CallTrace;
}

/** A message of a job. One that failed for good stays with its batch until the rest of it is settled. */
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
  /** By which an application knows that it is its own: see `ApplicationMarks`. Older versions write none. */
  marks?: string[];
  messages: BatchMessage[];
  /** When the first attempt began, in milliseconds since the epoch: retries are counted from here. */
  firstAttemptAt?: number;
  /** The earliest time to try it, in milliseconds since the epoch. */
  notBefore?: number;
}

/**
 * Data of a job: one batch, or, until their first attempt, several batches that were flushed together. What
 * is not delivered by then goes on in jobs of its own, so that no destination waits for another. It consists
 * of arrays, strings and numbers, and a body is one string, because PostgreSQL stores the data as `jsonb`,
 * which does not keep the order of keys. A body that several messages share is stored once: see `storedData`.
 */
export interface BatchJobData {
  v: number;
  batches: QueuedBatch[];
}

/** Characters of the bodies, which are nearly all that messages take in memory and in the queue. */
export function sizeOfBodies(messages: readonly QueuedMessage[]): number {
  let size = 0;
  for (const { body } of messages) size += body.length;
  return size;
}

/** The messages of a batch that still wait. The others failed for good. */
export function openMessages({ messages }: QueuedBatch): readonly BatchMessage[] {
  // Nearly no batch has any that failed.
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
  /** Those that its application gave it, where this process may not know the destination. @default those of this process */
  marks?: string[] | undefined;
  messages: readonly NewMessage[];
}

/** How a job is named, and how long it is kept. */
export interface JobTerms {
  /** Makes adding it again harmless: see `jobIdOf`. */
  jobId: string;
  /** Milliseconds that the job is kept if it fails for good. */
  failedRetention: number;
}

/** What a producer hands to the queue: batches that share a job until their first attempt. */
export interface NewJob extends JobTerms {
  batches: readonly NewBatch[];
}

/** What is left of a batch that shared its job, after an attempt. It goes on alone. */
export interface LeftBatch extends JobTerms {
  batch: QueuedBatch;
  /** When it is due again, in milliseconds since the epoch; `undefined` for at once. */
  dueAt: number | undefined;
}

/** Milliseconds that a job is kept if it fails for good. Anyone with access to the queue may have written its options. */
export function failedRetentionOf({ removeOnFail: kept }: JobsOptions): number {
  const age: unknown = typeof kept === 'object' && 'age' in kept ? kept.age : undefined;
  const seconds = typeof age === 'number' && age >= 0 ? age : DEFAULT_RETENTION_SECONDS;
  return Math.min(seconds * 1000, Number.MAX_SAFE_INTEGER);
}

import { createHash } from 'node:crypto';
import type { Destination } from '../destinations/destination.js';
import { type LeftBatch, openMessages, type QueuedBatch } from '../queue/batch-job.js';
import { jobIdFor } from '../queue/job-id.js';
import { limitOf, messagesAtOnce } from './destination-pace.js';
import { limitedDelay } from './put-back-delay.js';

/** Number of hexadecimal digits that distinguish the jobs that one job leaves. */
const HASH_LENGTH = 16;
/** Suffix of the id of such a job. */
const LEFT_SUFFIX = new RegExp(`-[0-9a-f]{${HASH_LENGTH}}-d[0-9a-f]{8}$`);

/** A part of a batch that goes on in a job of its own. */
interface Part {
  batch: QueuedBatch;
  /** When the part's turn should come, in whole milliseconds since the epoch. */
  dueAt: number;
}

/** How a batch is divided. */
export interface Division {
  destination: Destination;
  /** The batch as the queue holds it. */
  queued: QueuedBatch;
  /** The part that is sent now. It stays in the job. */
  first: QueuedBatch;
  rest: readonly Part[];
}

/**
 * Divides a batch for a destination with a `rateLimit` when its turn comes. Otherwise a job in hand would wait for
 * minutes, and a crash would repeat all of it. Each part has as many messages as all parts before it, and is divided
 * when its own turn comes. So a batch is only a few jobs at a time, and each of its messages is written only a few
 * times. Messages that failed before stay with the first part.
 */
export function divided(
  batch: QueuedBatch,
  destination: Destination,
  now: number,
): Pick<Division, 'first' | 'rest'> {
  const limit = limitOf(destination);
  const size = messagesAtOnce(destination);
  const open = openMessages(batch);
  if (limit === undefined || open.length <= size) return { first: batch, rest: [] };
  const failed = batch.messages.filter(({ failedAt }) => failedAt !== undefined);
  const first = { ...batch, messages: [...failed, ...open.slice(0, size)] };
  const rest: Part[] = [];
  for (let start = size; start < open.length; start *= 2) {
    const dueAt = now + limitedDelay((start / limit) * 1_000);
    rest.push({ batch: { ...batch, messages: open.slice(start, 2 * start) }, dueAt });
  }
  return { first, rest };
}

/** Returns a job for each part. */
export function jobsOfParts(jobId: string, failedRetention: number, parts: readonly Part[]): LeftBatch[] {
  return parts.map(({ batch, dueAt }, index) => ({
    jobId: idOfLeft(jobId, batch, index),
    failedRetention,
    batch,
    dueAt,
  }));
}

/**
 * Returns the id of a job for what is left of a batch. The id is the same for the same messages of the same job. After
 * a crash the job is tried again, and what it leaves then was either left the first time as well, or has been
 * delivered. A destination may have several batches in a job, since its connections are made again when it is changed.
 * Two of their messages may have the same id, so the hash includes the bodies.
 *
 * @param jobId id of the job that the batch was in
 * @param batch the batch as it was in that job
 * @param part index of the part, from 0, since two parts may be identical
 */
export function idOfLeft(jobId: string, batch: QueuedBatch, part = 0): string {
  const { destination, source, messages } = batch;
  const hash = createHash('sha256').update(JSON.stringify([jobId, destination, source, part]));
  for (const { id, body } of messages) hash.update(`${JSON.stringify(id)}${body}`);
  // Otherwise the id would grow each time that a part is divided.
  const root = jobId.replace(LEFT_SUFFIX, '');
  return jobIdFor(destination, `${root}-${hash.digest('hex').slice(0, HASH_LENGTH)}`);
}

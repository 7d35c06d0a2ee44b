import { createHash } from 'node:crypto';
import { type LeftBatch, openMessages, type QueuedBatch } from '../queue/batch-job.js';
import { jobIdFor } from '../queue/job-id.js';
import { limitedDelay } from './put-back-delay.js';

/** A part of a batch that goes on alone. */
export interface Part {
  batch: QueuedBatch;
  /** When it should be its turn, in whole milliseconds since the epoch; `undefined` for at once. */
  dueAt: number | undefined;
}

/**
 * Divides a batch for a destination with a `rateLimit`. A job in hand would otherwise wait for minutes, and a
 * crash would repeat all of it. Messages that failed before stay with the first part.
 *
 * @param size messages of a part
 * @param limit messages a second
 */
export function divided(batch: QueuedBatch, size: number, limit: number, now: number): Part[] {
  const open = openMessages(batch);
  const failed = batch.messages.filter(({ failedAt }) => failedAt !== undefined);
  const parts: Part[] = [];
  for (let start = 0; start < open.length; start += size) {
    const messages = open.slice(start, start + size);
    const dueAt = start === 0 ? undefined : now + limitedDelay((start / limit) * 1_000);
    parts.push({ batch: { ...batch, messages: start === 0 ? [...failed, ...messages] : messages }, dueAt });
  }
  return parts;
}

/** The jobs of the parts. */
export function jobsOfParts(jobId: string, failedRetention: number, parts: readonly Part[]): LeftBatch[] {
  return parts.map(({ batch, dueAt }, index) => ({
    jobId: idOfLeft(jobId, batch, index),
    failedRetention,
    batch,
    dueAt,
  }));
}

/**
 * The id of a job for what is left of a batch. It is the same for the same messages of the same job. After a
 * crash the job is tried again, and what it leaves then was either left the first time as well, or has been
 * delivered. A destination may have several batches in a job, since its connections are made again when it is
 * changed. Two of its messages may have the same id, so their bodies count.
 *
 * @param jobId the job that the batch was in
 * @param batch as it was there
 * @param part which of its parts it is, from 0: two of them may be all the same
 */
export function idOfLeft(jobId: string, batch: QueuedBatch, part = 0): string {
  const { destination, source, messages } = batch;
  const hash = createHash('sha256').update(JSON.stringify([destination, source, part]));
  for (const { id, body } of messages) hash.update(`${JSON.stringify(id)}${body}`);
  return jobIdFor(destination, `${jobId}-${hash.digest('hex').slice(0, 16)}`);
}

import { randomUUID } from 'node:crypto';
import { BatchQueue } from '../../../dist/esm/queue/batch-queue.js';

/** Most messages that the client merges into a job. */
const MESSAGES_A_JOB = 200;
/** Jobs that are added in one call. */
const JOBS_AT_ONCE = 25;
const FAILED_RETENTION = 60_000;

/**
 * Puts messages into a queue as a client would, without the time that so many calls take. The source has the name of
 * the destination.
 */
export async function addWaiting(app, destination, count) {
  const batches = app.get(BatchQueue);
  for (let added = 0; added < count;) {
    const jobs = [];
    while (jobs.length < JOBS_AT_ONCE && added < count) {
      const size = Math.min(MESSAGES_A_JOB, count - added);
      jobs.push(jobOf(destination, size));
      added += size;
    }
    await batches.add(jobs);
  }
}

function jobOf(destination, size) {
  const messages = Array.from({ length: size }, () => {
    const id = randomUUID();
    return { id, body: JSON.stringify({ version: 1, type: 'track', event: 'Waited', messageId: id }) };
  });
  const batches = [{ destination, source: destination, messages }];
  return { jobId: randomUUID(), failedRetention: FAILED_RETENTION, batches };
}

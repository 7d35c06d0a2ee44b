import { randomUUID } from 'node:crypto';
import { hashOf } from './partitions.js';

const REPLAY_PREFIX = 'replay-';

/**
 * Returns an id for a job with messages for these destinations. The id makes it harmless to add the job again.
 *
 * @param id as BullMQ requires, it contains no `:` and is no integer
 */
export function jobIdOf(destinations: ReadonlySet<string>, id: string = randomUUID()): string {
  const [destination, another] = destinations;
  return destination === undefined || another !== undefined ? id : jobIdFor(destination, id);
}

/**
 * Returns the id of a job for one destination. The id ends with a hash of the destination, so that the destination's
 * failed jobs are found without reading those of others, of which there may be a million.
 */
export function jobIdFor(destination: string, id: string): string {
  return id + suffixOf(destination);
}

/** Returns the id of a job that delivers failed messages of a destination again. */
export function replayJobId(destination: string, hash: string): string {
  return jobIdFor(destination, REPLAY_PREFIX + hash);
}

/** Whether a job delivers failed messages again. */
export function isReplay(jobId: string | undefined): boolean {
  return jobId?.startsWith(REPLAY_PREFIX) ?? false;
}

/**
 * Returns the suffix of a job's id if all of its messages are for this destination. The ids of jobs for several
 * destinations, and of jobs of older versions, have no such suffix.
 */
export function suffixOf(destination: string): string {
  return `-d${hashOf(destination).toString(16).padStart(8, '0')}`;
}

/** Returns the suffix of an id that tells the job's destination, or `undefined` if there is none. */
export function suffixIn(jobId: string): string | undefined {
  return /-d[0-9a-f]{8}$/.exec(jobId)?.[0];
}

import { randomUUID } from 'node:crypto';
import { hashOf } from './partitions.js';

const REPLAY_PREFIX = 'replay-';

/**
 * The id of a job with messages for these destinations, by which adding it again is harmless.
 *
 * @param id as BullMQ requires, it contains no `:` and is no integer
 */
export function jobIdOf(destinations: ReadonlySet<string>, id: string = randomUUID()): string {
  const [destination, another] = destinations;
  return destination === undefined || another !== undefined ? id : jobIdFor(destination, id);
}

/**
 * The id of a job for one destination. It ends with a hash of that destination, so that what failed for one is found among
 * all that failed without reading the messages of the others, of which there may be a million.
 */
export function jobIdFor(destination: string, id: string): string {
  return id + suffixOf(destination);
}

/** The id of a job that delivers failed messages of a destination again. */
export function replayJobId(destination: string, hash: string): string {
  return jobIdFor(destination, REPLAY_PREFIX + hash);
}

/** Whether a job delivers failed messages again. */
export function isReplay(jobId: string | undefined): boolean {
  return jobId?.startsWith(REPLAY_PREFIX) ?? false;
}

/**
 * What the id of a job ends with if all of its messages are for this destination. Jobs for several, and those of older
 * versions, have no such end.
 */
export function suffixOf(destination: string): string {
  return `-d${hashOf(destination).toString(16).padStart(8, '0')}`;
}

/** The end of an id that tells its destination; `undefined` if it has none. */
export function suffixIn(jobId: string): string | undefined {
  return /-d[0-9a-f]{8}$/.exec(jobId)?.[0];
}

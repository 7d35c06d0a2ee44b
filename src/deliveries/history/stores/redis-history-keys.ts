import { MAX_PARTITIONS } from '../../../options/resolve-connection.js';
import { prefixOf } from '../../../queue/redis/hash-tags.js';
import { ALL_DESTINATIONS, type PeriodLength } from '../history-store.js';

const PREFIX = '{nestjs-analytics:history}:';

export const KEYS = ['entries', 'order', 'whole', 'hours'];

/** Groups of destinations on a cluster. Each has its own hash tag, so that they are spread over the nodes. */
export const CLUSTER_GROUPS = MAX_PARTITIONS;

/**
 * Returns the keys of a destination, or of all destinations of a group. `entries`: a hash of texts by messageId. The
 * first line of a text is the head, the others are attempts. `order`: the messageIds by their ordinal. `whole`: a hash
 * of the entries of messages that were delivered by their first attempt, as `wholeEntriesOf` makes them, with the
 * number of these entries as `count`. Such an entry costs much less to write. `hours`: a hash of counts as JSON, by the
 * number of the hour. The keys of a destination that is idle for a week expire.
 */
export function keysOf(destination: string, group: number | undefined): string[] {
  return KEYS.map((name) => keyOf(name, destination, group));
}

/** Returns the key of the counts of a destination by the hour. */
export function hoursKey(destination: string, group: number | undefined): string {
  return keyOf('hours', destination, group);
}

/** Returns the key of the counts of all destinations of a group, by the number of the minute. */
export function minutesKey(group: number | undefined): string {
  return keyOf('minutes', ALL_DESTINATIONS, group);
}

/** Returns the key of the largest numbers of waiting messages, by the number of the minute or the hour. */
export function waitingKey(length: PeriodLength, group: number | undefined): string {
  return keyOf(`waiting-${length}`, ALL_DESTINATIONS, group);
}

/** Returns the key of the latest answer to a process that writes a group. */
export function answerKey(process: string, group: number | undefined): string {
  return keyOf('answer', process, group);
}

function keyOf(name: string, destination: string, group: number | undefined): string {
  const prefix = group === undefined ? PREFIX : `${prefixOf(group)}:history:`;
  return `${prefix}${name}:${destination}`;
}

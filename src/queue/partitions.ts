/** Name of the BullMQ queue that carries the batches, or its first partition. */
export const ANALYTICS_QUEUE = 'analytics';

/**
 * Name of the BullMQ queue that is one of the partitions. With the option `prefix`, that and a hyphen come before it.
 *
 * @param partition from 0
 */
export function analyticsQueueName(partition: number): string {
  return partition === 0 ? ANALYTICS_QUEUE : `${ANALYTICS_QUEUE}-${partition}`;
}

/** The same with the `prefix` of an application. */
export function queueNameOf(partition: number, prefix: string | undefined): string {
  const name = analyticsQueueName(partition);
  return prefix === undefined ? name : `${prefix}-${name}`;
}

/** The partition that messages for a destination go to: the same one in every process with as many partitions. */
export function partitionOf(destination: string, partitions: number): number {
  return partitions === 1 ? 0 : hashOf(destination) % partitions;
}

/** A stable hash of a destination's id: an unsigned integer of 32 bits. */
export function hashOf(destination: string): number {
  // FNV-1a
  let hash = 0x811c9dc5;
  for (let at = 0; at < destination.length; at++) {
    hash = Math.imul(hash ^ destination.charCodeAt(at), 0x01000193);
  }
  // Its lower bits alone would put similar ids too close together.
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** A job over all partitions: in the first one, its own id. BullMQ refuses ids with a colon. */
export function jobKeyOf(partition: number, jobId: string): string {
  return partition === 0 ? jobId : `${partition}:${jobId}`;
}

/** What `jobKeyOf` was made of. */
export function jobOfKey(key: string): { partition: number; jobId: string } {
  const [, partition, jobId] = /^(\d+):(.*)$/s.exec(key) ?? [];
  return partition === undefined || jobId === undefined
    ? { partition: 0, jobId: key }
    : { partition: Number(partition), jobId };
}

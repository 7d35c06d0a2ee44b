/** Name of the BullMQ queue that carries the batches, or of its first partition. */
export const ANALYTICS_QUEUE = 'analytics';

/**
 * Returns the name of a partition's BullMQ queue. With the option `prefix`, its value and a hyphen come before the
 * name.
 *
 * @param partition from 0
 */
export function analyticsQueueName(partition: number): string {
  return partition === 0 ? ANALYTICS_QUEUE : `${ANALYTICS_QUEUE}-${partition}`;
}

/** Returns the name of a partition's BullMQ queue, with the application's `prefix` if it has one. */
export function queueNameOf(partition: number, prefix: string | undefined): string {
  const name = analyticsQueueName(partition);
  return prefix === undefined ? name : `${prefix}-${name}`;
}

/** Returns the partition for a destination's messages: the same in every process with as many partitions. */
export function partitionOf(destination: string, partitions: number): number {
  return partitions === 1 ? 0 : hashOf(destination) % partitions;
}

/** Returns a stable hash of a destination's id: an unsigned integer of 32 bits. */
export function hashOf(destination: string): number {
  // FNV-1a
  let hash = 0x811c9dc5;
  for (let at = 0; at < destination.length; at++) {
    hash = Math.imul(hash ^ destination.charCodeAt(at), 0x01000193);
  }
  // The lower bits alone would put similar ids too close together.
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** Returns a job's key across all partitions. In the first, it is the job's own id, in which BullMQ refuses a colon. */
export function jobKeyOf(partition: number, jobId: string): string {
  return partition === 0 ? jobId : `${partition}:${jobId}`;
}

/** Returns the partition and the id from which `jobKeyOf` made a key. */
export function jobOfKey(key: string): { partition: number; jobId: string } {
  const [, partition, jobId] = /^(\d+):(.*)$/s.exec(key) ?? [];
  return partition === undefined || jobId === undefined
    ? { partition: 0, jobId: key }
    : { partition: Number(partition), jobId };
}

import { getHeapStatistics } from 'node:v8';

/** Of the heap that Node gives the process, which is small in a small container. */
const SHARE = 1 / 8;

/** A limit for what is kept in memory, which is lower where an eighth of the heap is. */
export function limitedByHeap(limit: number): number {
  return Math.min(limit, Math.floor(getHeapStatistics().heap_size_limit * SHARE));
}

import { getHeapStatistics } from 'node:v8';

/** Share of the heap that Node gives the process. The heap is small in a small container. */
const SHARE = 1 / 8;

/** Returns a limit for what is kept in memory: `limit`, or an eighth of the heap if that is less. */
export function limitedByHeap(limit: number): number {
  return Math.min(limit, Math.floor(getHeapStatistics().heap_size_limit * SHARE));
}

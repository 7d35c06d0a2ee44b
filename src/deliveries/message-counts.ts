import type { BatchState, BatchStore } from '../queue/batch-store.js';
import { failedOf } from './failed-filter.js';

/** Messages in the queue, by where they stand. */
export interface MessageCounts {
  /** Not yet taken by a worker. */
  waiting: number;
  /** Being delivered. */
  active: number;
  /** Put back: tried and to be tried again, or held back while their URL is down. */
  delayed: number;
  /** Failed for good and kept. */
  failed: number;
}

const STATES: BatchState[] = ['failed', 'delayed', 'waiting', 'active'];

/** Counts the messages of all jobs, which it reads. */
export async function countMessages(store: BatchStore): Promise<MessageCounts> {
  const counts: MessageCounts = { waiting: 0, active: 0, delayed: 0, failed: 0 };
  for await (const batch of store.batches(STATES)) {
    const failed = failedOf(batch).length;
    counts.failed += failed;
    counts[batch.state] += batch.data.messages.length - failed;
  }
  return counts;
}

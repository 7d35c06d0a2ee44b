import type { BatchState, BatchStore } from '../queue/batch-store.js';
import { failedOf } from './failed-filter.js';

/** Messages in the queue, by state. */
export interface MessageCounts {
  /** Not yet taken by a worker. */
  waiting: number;
  /** Being delivered. */
  active: number;
  /** Tried and due again later, or put back without an attempt, as while their URL is down. */
  delayed: number;
  /** Failed for good and kept. */
  failed: number;
}

const STATES: BatchState[] = ['failed', 'delayed', 'waiting', 'active'];

/** Counts the messages of all jobs by reading them. A job that cannot be read counts as one message. */
export async function countMessages(store: BatchStore): Promise<MessageCounts> {
  const counts: MessageCounts = { waiting: 0, active: 0, delayed: 0, failed: 0 };
  for await (const [job, state] of store.jobs({ states: STATES })) {
    if (job.unreadable !== undefined) counts[state]++;
    for (const batch of job.batches) {
      const failed = failedOf(batch, state).length;
      counts.failed += failed;
      counts[state] += batch.messages.length - failed;
    }
  }
  return counts;
}

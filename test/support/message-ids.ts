import type { BatchJobQueue } from '../../src/queue/queue-backend.js';
import { queuedMessages } from './queued-messages.js';
import type { Receiver } from './receiver.js';

/** Ids for a number of messages: `a-0`, `a-1`, … */
export function messageIds(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, n) => `${prefix}-${n}`);
}

/** The ids of the messages in all jobs of a queue that are not settled, sorted. */
export async function queuedIds(queue: BatchJobQueue): Promise<string[]> {
  const jobs = await queue.getJobs(['wait', 'prioritized', 'active', 'delayed']);
  return queuedMessages(...jobs)
    .map(({ id }) => id)
    .sort();
}

/** The ids of the messages that a receiver got, each once, sorted. */
export function receivedIds({ requests }: Pick<Receiver, 'requests'>): string[] {
  return [...new Set(requests.map(({ headers }) => String(headers['webhook-id'])))].sort();
}

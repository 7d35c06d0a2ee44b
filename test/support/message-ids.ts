import type { BatchJobQueue } from '../../src/queue/queue-backend.js';
import { queuedMessages } from './queued-messages.js';
import type { Receiver } from './receiver.js';

/** Returns ids for a number of messages: `a-0`, `a-1`, … */
export function messageIds(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, n) => `${prefix}-${n}`);
}

/** Resolves to the sorted ids of the messages in all jobs of a queue that are not settled. */
export async function queuedIds(queue: BatchJobQueue): Promise<string[]> {
  const jobs = await queue.getJobs(['wait', 'prioritized', 'active', 'delayed']);
  return queuedMessages(...jobs)
    .map(({ id }) => id)
    .sort();
}

/** Returns the sorted ids of the messages that a receiver got, each id once. */
export function receivedIds({ requests }: Pick<Receiver, 'requests'>): string[] {
  return [...new Set(requests.map(({ headers }) => String(headers['webhook-id'])))].sort();
}

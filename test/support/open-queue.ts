import type { BatchJobQueue } from '../../src/queue/queue-backend.js';
import type { TestConnection } from './describe-backend.js';
import { openBackend } from './open-backend.js';

/** Looks into the queue of an application that has ended, without delivering from the queue. */
export async function lookIntoQueue<T>(
  connection: TestConnection,
  look: (queue: BatchJobQueue) => Promise<T>,
): Promise<T> {
  const backend = await openBackend(connection);
  const queue = backend.createQueue(0, {});
  try {
    return await look(queue);
  } finally {
    await queue.close();
    await backend.close();
  }
}

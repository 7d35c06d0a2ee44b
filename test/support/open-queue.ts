import { resolveOptions } from '../../src/options/resolve-options.js';
import { createQueueBackend } from '../../src/queue/create-queue-backend.js';
import { ANALYTICS_QUEUE } from '../../src/queue/queue.constants.js';
import type { BatchJobQueue } from '../../src/queue/queue-backend.js';
import type { TestConnection } from './describe-backend.js';
import { LogLines } from './log-lines.js';

/** Looks into the queue of an application that has ended, without delivering from it. */
export async function lookIntoQueue<T>(
  connection: TestConnection,
  look: (queue: BatchJobQueue) => Promise<T>,
): Promise<T> {
  const options = resolveOptions({ writeKey: 'wk_test', connection }, { worker: true });
  const backend = await createQueueBackend(options.connection, new LogLines());
  const queue = backend.createQueue(ANALYTICS_QUEUE, {});
  try {
    return await look(queue);
  } finally {
    await queue.close();
    await backend.close();
  }
}

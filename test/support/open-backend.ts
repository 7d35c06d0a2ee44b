import { resolveOptions } from '../../src/options/resolve-options.js';
import { createQueueBackend } from '../../src/queue/create-queue-backend.js';
import type { QueueBackend } from '../../src/queue/queue-backend.js';
import type { TestConnection } from './describe-backend.js';
import { LogLines } from './log-lines.js';

/** Opens the database of a queue as an application does. */
export function openBackend(connection: TestConnection): Promise<QueueBackend> {
  // Without a destination, nothing is opened.
  const webhooks = { urls: ['https://hooks.example.com/'] };
  const options = resolveOptions({ writeKey: 'wk_test', connection, webhooks }, { worker: true });
  return createQueueBackend(options, new LogLines());
}

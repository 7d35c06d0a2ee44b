import { QUICKEST } from './backend-source.js';
import type { TestConnection } from './describe-backend.js';

/**
 * For test files to which the backend does not matter: each call returns the connection of an empty queue. The queue is
 * on a Redis of the test file, where a test takes milliseconds, or embedded if no Redis is installed.
 */
export function quickConnections(): () => Promise<TestConnection> {
  return async () => (await QUICKEST.open()).newConnection();
}

import { QUICKEST } from './backend-source.js';
import type { TestConnection } from './describe-backend.js';

/**
 * For a test file to which the backend does not matter: each call gives the connection of an empty queue. It is on a
 * Redis of the file's own, which costs a test milliseconds; where none is installed, it is embedded.
 */
export function quickConnections(): () => Promise<TestConnection> {
  return async () => (await QUICKEST.open()).newConnection();
}

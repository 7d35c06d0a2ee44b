import { afterAll } from '@jest/globals';
import type { QueueBackend } from '../../src/queue/queue-backend.js';
import type { Backend } from './describe-backend.js';
import { openBackend } from './open-backend.js';
import { Stage } from './stage.js';

/**
 * For suites that test only the tables of this module: each call opens a database without these tables, which the test
 * closes. The embedded database takes most of a second to open, so all tests share one. It loses the tables in between,
 * and is closed after the last test.
 */
export function emptyBackends(backend: Backend): () => Promise<QueueBackend> {
  if (backend.name !== 'embedded') return () => openBackend(backend.connection);
  const stage = new Stage(afterAll);
  let shared: Promise<QueueBackend> | undefined;
  return async () => {
    shared ??= stage.add(openBackend(backend.connection));
    const opened = await shared;
    if (opened.storage.kind === 'postgres')
      await opened.storage.pool.query('DROP SCHEMA IF EXISTS nestjs_analytics CASCADE');
    return { ...opened, close: () => Promise.resolve() };
  };
}

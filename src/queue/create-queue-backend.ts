import { types } from 'node:util';
import type { ResolvedConnection } from '../options/resolved-options.js';
import type { QueueLog } from './limited-log.js';
import type { QueueBackend } from './queue-backend.js';
import { QueueHealth } from './queue-health.js';

/**
 * Creates the backend for `connection`. A server that cannot be reached is waited for later. The embedded
 * database is opened here, so that a problem with its folder is reported at start. Only the code of the one that
 * is used is loaded.
 */
export async function createQueueBackend(
  connection: ResolvedConnection,
  logger: QueueLog,
): Promise<QueueBackend> {
  switch (connection.kind) {
    case 'redis':
    case 'cluster': {
      const { createRedisQueueBackend } = await import('./redis/redis-backend.js');
      return createRedisQueueBackend(connection, new QueueHealth('Redis', logger), logger);
    }
    case 'postgres': {
      const { createPostgresQueueBackend } = await import('./postgres/postgres-backend.js');
      return createPostgresQueueBackend(connection.postgres, new QueueHealth('PostgreSQL', logger));
    }
    case 'embedded': {
      const { openEmbeddedDatabase } = await import('./embedded/embedded-database.js');
      const { createPoolQueueBackend } = await import('./postgres/postgres-backend.js');
      const database = await openEmbeddedDatabase({
        dataDir: connection.dataDir,
        durability: connection.durability,
        onWarning: (warning) => {
          const { message, cause } = warning;
          logger.warn(types.isNativeError(cause) ? `${message} ${String(cause)}` : message);
        },
      });
      return createPoolQueueBackend(database, new QueueHealth('the embedded database', logger));
    }
    case 'none': {
      const { createNoQueueBackend } = await import('./no-queue-backend.js');
      return createNoQueueBackend(new QueueHealth('nothing', logger));
    }
  }
}

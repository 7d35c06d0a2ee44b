import type { ResolvedConnection } from '../options/resolved-options.js';
import { openEmbeddedDatabase } from './embedded/embedded-database.js';
import { createPoolQueueBackend, createPostgresQueueBackend } from './postgres-backend.js';
import type { QueueBackend } from './queue-backend.js';
import { QueueHealth, type QueueHealthLog } from './queue-health.js';
import { createRedisQueueBackend } from './redis-backend.js';

/**
 * Makes the backend that `connection` asks for. A server that cannot be reached is waited for later; the
 * embedded database is opened here, since what is wrong with its folder is to be told at start.
 */
export async function createQueueBackend(
  connection: ResolvedConnection,
  logger: QueueHealthLog,
): Promise<QueueBackend> {
  switch (connection.kind) {
    case 'redis':
      return createRedisQueueBackend(connection.redis, new QueueHealth('Redis', logger), logger);
    case 'postgres':
      return createPostgresQueueBackend(connection.postgres, new QueueHealth('PostgreSQL', logger));
    case 'embedded': {
      const database = await openEmbeddedDatabase({
        dataDir: connection.dataDir,
        onWarning: (warning) => {
          logger.warn(`${warning.message} ${String(warning.cause)}`);
        },
      });
      return createPoolQueueBackend(database, new QueueHealth('the embedded database', logger));
    }
  }
}

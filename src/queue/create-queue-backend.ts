import { types } from 'node:util';
import { withCode } from '../errors/with-code.js';
import type { ResolvedConnection, ResolvedOptions } from '../options/resolved-options.js';
import type { QueueLog } from './limited-log.js';
import { queueNameOf } from './partitions.js';
import { prefixedStorage } from './prefixed-storage.js';
import type { QueueBackend, QueueNaming } from './queue-backend.js';
import { EMBEDDED, QueueHealth } from './queue-health.js';

/**
 * Creates the backend for `connection`. The `prefix` keeps applications on the same database apart. A server that
 * cannot be reached does not fail the start: the queue waits for it later. The embedded database is opened here, so
 * that a problem with its folder is reported at start. Only the code of the backend that is used is loaded.
 */
export async function createQueueBackend(
  { connection, prefix }: Pick<ResolvedOptions, 'connection' | 'prefix'>,
  logger: QueueLog,
): Promise<QueueBackend> {
  const nameOf = (partition: number): string => queueNameOf(partition, prefix);
  const backend = await openBackend(connection, nameOf, logger);
  return prefix === undefined ? backend : { ...backend, storage: prefixedStorage(backend.storage, prefix) };
}

async function openBackend(
  connection: ResolvedConnection,
  nameOf: QueueNaming,
  logger: QueueLog,
): Promise<QueueBackend> {
  switch (connection.kind) {
    case 'redis':
    case 'cluster': {
      const { createRedisQueueBackend } = await import('./redis/redis-backend.js');
      return createRedisQueueBackend(connection, nameOf, new QueueHealth('Redis', logger), logger);
    }
    case 'postgres': {
      const { createPostgresQueueBackend } = await import('./postgres/postgres-backend.js');
      return createPostgresQueueBackend(connection.postgres, nameOf, new QueueHealth('PostgreSQL', logger));
    }
    case 'embedded': {
      const { openEmbeddedDatabase } = await import('./embedded/embedded-database.js');
      const { createPoolQueueBackend } = await import('./postgres/postgres-backend.js');
      const database = await openEmbeddedDatabase({
        dataDir: connection.dataDir,
        durability: connection.durability,
        onWarning: (warning) => {
          const { cause } = warning;
          const text = withCode(warning);
          logger.warn(types.isNativeError(cause) ? `${text} ${String(cause)}` : text);
        },
      });
      const health = new QueueHealth(EMBEDDED, logger);
      return {
        ...createPoolQueueBackend(database, nameOf, health),
        announceClose: () => {
          database.announceEnd();
        },
      };
    }
    case 'none': {
      const { createNoQueueBackend } = await import('./no-queue-backend.js');
      return createNoQueueBackend(nameOf, new QueueHealth('nothing', logger));
    }
  }
}

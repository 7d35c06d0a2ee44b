import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import {
  type BackendFactory,
  type PgPool,
  PostgresConnection,
  PostgresQueueBackend,
  quoteSchemaName,
  DEFAULT_SCHEMA,
  withBackend,
} from 'bullmq';
import type { PoolConfig } from 'pg';
import { within } from '../time/within.js';
import type { BatchJobData } from './batch-job.js';
import { importPeer } from './import-peer.js';
import type { QueueBackend } from './queue-backend.js';
import type { QueueHealth } from './queue-health.js';
import { ReconnectingPool } from './reconnecting-pool.js';

/** How long a query may wait for a connection before the server counts as away, in milliseconds. */
const CONNECT_TIMEOUT = 10_000;
/** How long the server has to take leave of its clients, in milliseconds. */
const END_TIMEOUT = 250;
const SEARCH_PATH = `-c search_path=${quoteSchemaName(DEFAULT_SCHEMA)}`;

/** A connection that is ready when its pool is: BullMQ's own remembers a first failure for ever. */
class PooledConnection extends PostgresConnection {
  constructor(private readonly reconnecting: ReconnectingPool) {
    super(reconnecting);
  }

  override waitUntilReady(): Promise<void> {
    return this.reconnecting.ready;
  }
}

/** The queue over a pool: a PostgreSQL server's, or the embedded database's. */
export function createPoolQueueBackend(pool: PgPool, health: QueueHealth): QueueBackend {
  const reconnecting = new ReconnectingPool(pool, health);
  const createBackend: BackendFactory<PostgresQueueBackend, PgPool> = (name, options, role) => {
    // Workers are found by the name of their connection, as in dashboards.
    const listenerName = role?.withBlockingConnection === true ? name : undefined;
    return new PostgresQueueBackend(new PooledConnection(reconnecting), name, options, true, listenerName);
  };
  const { Queue, Worker } = withBackend(createBackend);
  return {
    health,
    storage: { kind: 'postgres', pool: reconnecting },
    createQueue: (name, options) =>
      new Queue<BatchJobData, void>(name, { ...options, connection: reconnecting }),
    createWorker: (name, processor, options) =>
      new Worker<BatchJobData, void>(name, processor, { ...options, connection: reconnecting }),
    close: () => reconnecting.end(),
  };
}

/** The settings of a user's pool; its password is not enumerable. */
function settingsOf(pool: PgPool): PoolConfig {
  if (!('options' in pool) || typeof pool.options !== 'object' || pool.options === null) return {};
  const password = 'password' in pool.options ? pool.options.password : undefined;
  return { ...pool.options, ...(typeof password === 'string' ? { password } : {}) };
}

/**
 * The queue on a PostgreSQL server, over a pool of our own: BullMQ needs a search path that a user's pool
 * does not have.
 */
export async function createPostgresQueueBackend(
  postgres: string | PgPool,
  health: QueueHealth,
): Promise<QueueBackend> {
  const { default: pg } = await importPeer('pg', () => import('pg'));
  const settings: PoolConfig =
    typeof postgres === 'string' ? { connectionString: postgres } : settingsOf(postgres);
  const sockets = new Set<Duplex>();
  const pool = new pg.Pool({
    ...settings,
    stream: () => {
      const socket = settings.stream?.() ?? new Socket();
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      return socket;
    },
    options: [settings.options, SEARCH_PATH].filter(Boolean).join(' '),
    connectionTimeoutMillis: settings.connectionTimeoutMillis ?? CONNECT_TIMEOUT,
    keepAlive: true,
    allowExitOnIdle: true,
  });
  const backend = createPoolQueueBackend(pool, health);
  return {
    ...backend,
    close: async () => {
      await within(END_TIMEOUT, backend.close());
      // A server that hangs would be waited for, for ever: only our own sockets can be closed without it.
      for (const socket of sockets) socket.destroy();
    },
  };
}

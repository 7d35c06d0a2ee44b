import {
  type BackendFactory,
  type PgPool,
  PostgresConnection,
  PostgresQueueBackend,
  withBackend,
} from 'bullmq';
import { within } from '../../shared/within.js';
import type { BatchJobData } from '../batch-job.js';
import { batchWorkerOf } from '../batch-worker.js';
import { analyticsQueueName } from '../partitions.js';
import { type AddMemory, START_PATIENCE, type QueueBackend } from '../queue-backend.js';
import type { QueueHealth } from '../queue-health.js';
import { openPostgresPool, type PostgresSettings } from './postgres-pool.js';
import { ReconnectingPool } from './reconnecting-pool.js';

/**
 * Completed jobs are kept by age: with a number, BullMQ would look at all of them whenever one finishes. By
 * age, it finds those to remove in an index.
 */
const MEMORY: AddMemory = { completed: { age: 300 } };

/** A database in this process cannot lose an answer on the way. */
const EMBEDDED_MEMORY: AddMemory = { completed: { age: 300, count: 100 } };

/** A connection that is ready when its pool is. BullMQ's own remembers a first failure forever. */
class PooledConnection extends PostgresConnection {
  constructor(private readonly reconnecting: ReconnectingPool) {
    super(reconnecting);
  }

  override waitUntilReady(): Promise<void> {
    return this.reconnecting.ready;
  }
}

function backendOn(reconnecting: ReconnectingPool, health: QueueHealth, memory: AddMemory): QueueBackend {
  const createBackend: BackendFactory<PostgresQueueBackend, PgPool> = (name, options, role) => {
    // Dashboards find workers by the name of their connection.
    const listenerName = role?.withBlockingConnection === true ? name : undefined;
    return new PostgresQueueBackend(new PooledConnection(reconnecting), name, options, true, listenerName);
  };
  const classes = withBackend(createBackend);
  const BatchWorker = batchWorkerOf(classes);
  return {
    health,
    storage: { kind: 'postgres', pool: reconnecting },
    memory,
    createQueue: (partition, options) =>
      new classes.Queue<BatchJobData, void>(analyticsQueueName(partition), {
        ...options,
        connection: reconnecting,
      }),
    createWorker: (partition, processor, options) =>
      new BatchWorker(analyticsQueueName(partition), processor, { ...options, connection: reconnecting }),
    close: () => reconnecting.end(),
  };
}

/** The queue on a pool that someone else opened: the embedded database's. */
export function createPoolQueueBackend(pool: PgPool, health: QueueHealth): QueueBackend {
  return backendOn(new ReconnectingPool(pool, health), health, EMBEDDED_MEMORY);
}

/**
 * The queue on a PostgreSQL server. One that cannot be reached is waited for later.
 *
 * @throws UnsupportedQueueServerError if the server answers at once and can never carry the queue.
 */
export async function createPostgresQueueBackend(
  postgres: PostgresSettings,
  health: QueueHealth,
): Promise<QueueBackend> {
  const opened = await openPostgresPool(postgres, health);
  const reconnecting = new ReconnectingPool(opened.pool, health, (client) => opened.checkSession(client));
  const end = (): Promise<void> => opened.close(() => reconnecting.end());
  try {
    await within(START_PATIENCE, reconnecting.firstAnswer);
  } catch (error) {
    await end();
    throw error;
  }
  return { ...backendOn(reconnecting, health, MEMORY), close: end };
}

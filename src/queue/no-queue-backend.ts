import { EventEmitter } from 'node:events';
import {
  type BackendFactory,
  type JobType,
  type PgPool,
  type PgPoolClient,
  type PgQueryResult,
  PostgresConnection,
  PostgresQueueBackend,
  withBackend,
} from 'bullmq';
import { NoQueueError } from '../errors/setup.errors.js';
import type { BatchJobData } from './batch-job.js';
import type { QueueBackend, QueueNaming, QueueStorage } from './queue-backend.js';
import type { QueueHealth } from './queue-health.js';

/** The answer of a database that holds nothing and keeps nothing. */
function nothing<R>(): Promise<PgQueryResult<R>> {
  return Promise.resolve({ rows: [], rowCount: 0 });
}

class EmptyClient extends EventEmitter implements PgPoolClient {
  query<R>(): Promise<PgQueryResult<R>> {
    return nothing();
  }

  release(): void {
    // No connection is behind it.
  }
}

/**
 * Stands in for a database in a process that delivers nothing. Whatever is stored there is gone at once, and no
 * query finds anything.
 */
class EmptyPool extends EventEmitter implements PgPool {
  /** Tells BullMQ that there is no connection to watch. */
  readonly options = { keepAlive: true };

  query<R>(): Promise<PgQueryResult<R>> {
    return nothing();
  }

  connect(): Promise<PgPoolClient> {
    return Promise.resolve(new EmptyClient());
  }

  end(): Promise<void> {
    return Promise.resolve();
  }
}

class ReadyConnection extends PostgresConnection {
  // BullMQ would look for its schema.
  override waitUntilReady(): Promise<void> {
    return Promise.resolve();
  }
}

/** Shows dashboards an empty queue, and refuses jobs. */
class EmptyQueueBackend extends PostgresQueueBackend {
  override getCounts(types: JobType[]): Promise<number[]> {
    return Promise.resolve(types.map(() => 0));
  }

  override hasQueueMetaField(): Promise<boolean> {
    return Promise.resolve(false);
  }

  override addJob(): Promise<string> {
    return Promise.reject(new NoQueueError());
  }

  override addJobs(): Promise<string[]> {
    return Promise.reject(new NoQueueError());
  }
}

/**
 * Creates the backend of a process that delivers nothing. It opens no database, no folder and no connection.
 * Code that injects the queue gets a queue that is always empty.
 */
export function createNoQueueBackend(nameOf: QueueNaming, health: QueueHealth): QueueBackend {
  const pool = new EmptyPool();
  // There is no server to reach.
  health.up();
  const storage: QueueStorage = { kind: 'postgres', pool };
  const createBackend: BackendFactory<PostgresQueueBackend, PgPool> = (name, options) =>
    new EmptyQueueBackend(new ReadyConnection(pool), name, options);
  const { Queue } = withBackend(createBackend);
  return {
    health,
    storage,
    jobStorage: storage,
    memory: { completed: { age: 0 } },
    createQueue: (partition, options) =>
      new Queue<BatchJobData, void>(nameOf(partition), { ...options, connection: pool }),
    createWorker: () => {
      throw new NoQueueError();
    },
    close: () => pool.end(),
  };
}

import {
  type BackendFactory,
  type JobType,
  type PgPool,
  PostgresConnection,
  PostgresQueueBackend,
  withBackend,
} from 'bullmq';
import { NoQueueError } from '../errors/setup.errors.js';
import type { BatchJobData } from './batch-job.js';
import { EmptyPool } from './empty-pool.js';
import { analyticsQueueName } from './partitions.js';
import type { QueueBackend } from './queue-backend.js';
import type { QueueHealth } from './queue-health.js';

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
 * The queue of a process that delivers nothing. It opens no database, no folder and no connection. What
 * injects the queue gets one that is always empty.
 */
export function createNoQueueBackend(health: QueueHealth): QueueBackend {
  const pool = new EmptyPool();
  const createBackend: BackendFactory<PostgresQueueBackend, PgPool> = (name, options) =>
    new EmptyQueueBackend(new ReadyConnection(pool), name, options);
  const { Queue } = withBackend(createBackend);
  return {
    health,
    storage: { kind: 'postgres', pool },
    memory: { completed: { age: 0 } },
    createQueue: (partition, options) =>
      new Queue<BatchJobData, void>(analyticsQueueName(partition), { ...options, connection: pool }),
    createWorker: () => {
      throw new NoQueueError();
    },
    close: () => pool.end(),
  };
}

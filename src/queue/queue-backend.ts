import type {
  ConnectionOptions,
  IQueueBackend,
  JobProgress,
  PgPool,
  PostgresQueueBackend,
  Processor,
  Queue,
  QueueOptions,
  RedisQueueBackend,
  Worker,
  WorkerOptions,
} from 'bullmq';

import type { BatchJobData } from './batch-job.js';
import type { QueueHealth } from './queue-health.js';
import type { RedisCommands } from './redis-commands.js';

export type BatchQueueOptions = Omit<QueueOptions, 'connection'>;
export type BatchWorkerOptions = Omit<WorkerOptions, 'connection'>;
type QueueOn<B extends IQueueBackend, C> = Queue<
  BatchJobData,
  void,
  string,
  BatchJobData,
  void,
  string,
  B,
  C
>;
type WorkerOn<B extends IQueueBackend, C> = Worker<BatchJobData, void, string, B, JobProgress, C>;

/** BullMQ's queue of batches, on either of its engines. */
export type BatchJobQueue =
  QueueOn<RedisQueueBackend, ConnectionOptions> | QueueOn<PostgresQueueBackend, PgPool>;
/** BullMQ's worker of batches, on either of its engines. */
export type BatchJobWorker =
  WorkerOn<RedisQueueBackend, ConnectionOptions> | WorkerOn<PostgresQueueBackend, PgPool>;

export type BatchProcessor = Processor<BatchJobData, void>;

/** The database itself, for what is kept beside the queue. Its connections are the queue's own. */
export type QueueStorage = { kind: 'redis'; client: RedisCommands } | { kind: 'postgres'; pool: PgPool };

/** The database under the queue. Everything above it is the same on all of them. */
export interface QueueBackend {
  readonly health: QueueHealth;
  readonly storage: QueueStorage;
  createQueue(name: string, options: BatchQueueOptions): BatchJobQueue;
  createWorker(name: string, processor: BatchProcessor, options: BatchWorkerOptions): BatchJobWorker;
  /** Ends the connections, after the queue and the worker were closed. Never waits for a dead server. */
  close(): Promise<void>;
}

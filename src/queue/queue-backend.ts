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

/** Injection token of the database under the queue. */
export const QUEUE_BACKEND = Symbol.for('nestjs-analytics:queue-backend');

/**
 * How long a start waits for the first answer of the queue's server, in milliseconds: long enough to reject a
 * server that cannot carry the queue, short enough to start without one that is away.
 */
export const START_PATIENCE = 2_000;

export type BatchQueueOptions = Omit<QueueOptions, 'connection'>;
export interface BatchWorkerOptions extends Omit<WorkerOptions, 'connection'> {
  /** Runs each look for a job, when it is time for one. */
  look: <T>(look: () => Promise<T>) => Promise<T>;
  /**
   * Runs the end of each job, which may fetch the next job.
   *
   * @param isWanted whether the worker may have another job
   */
  end: <T>(isWanted: boolean, end: (fetchNext: boolean) => Promise<T>) => Promise<T>;
  /** Milliseconds after a failure until the queue is asked again. */
  runRetryDelay: number;
}
/** BullMQ's queue of batches, on one of its engines. */
export type QueueOn<B extends IQueueBackend, C> = Queue<
  BatchJobData,
  void,
  string,
  BatchJobData,
  void,
  string,
  B,
  C
>;
export type WorkerOn<B extends IQueueBackend, C> = Worker<BatchJobData, void, string, B, JobProgress, C>;

/** BullMQ's queue of batches, on either of its engines. */
export type BatchJobQueue =
  QueueOn<RedisQueueBackend, ConnectionOptions> | QueueOn<PostgresQueueBackend, PgPool>;
/** BullMQ's worker of batches, on either of its engines. */
export type BatchJobWorker =
  WorkerOn<RedisQueueBackend, ConnectionOptions> | WorkerOn<PostgresQueueBackend, PgPool>;

export type BatchProcessor = Processor<BatchJobData, void>;

export type RedisArgument = string | number;

/**
 * What other folders may use of the queue's Redis. The type is structural, so that this package's types do
 * not need `ioredis`, which an application may not have.
 */
export interface RedisCommands {
  /** Whether the keys of one script have to be in one slot. */
  readonly isCluster?: boolean;
  /** Prefix that is put before keys without a hash tag. @default nothing */
  readonly keyPrefix?: string;
  eval(script: string, numberOfKeys: number, ...keysAndArguments: RedisArgument[]): Promise<unknown>;
  evalsha(sha: string, numberOfKeys: number, ...keysAndArguments: RedisArgument[]): Promise<unknown>;
}

/** The name of the BullMQ queue of a partition. */
export type QueueNaming = (partition: number) => string;

/** What other folders may use of the queue's PostgreSQL, server or embedded. */
export interface QueuePool extends Pick<PgPool, 'query'> {
  /** Maximum number of connections. `undefined` if it is embedded: its statements run one after the other. */
  readonly max?: number | undefined;
}

/** The database itself, for data that is stored beside the queue. Its connections are the queue's own. */
export type QueueStorage = { kind: 'redis'; client: RedisCommands } | { kind: 'postgres'; pool: QueuePool };

/**
 * What is remembered of added jobs, so that adding a job again is harmless for as long as the answer may have
 * been lost: for minutes if there is a network in between.
 */
export interface AddMemory {
  /** Completed jobs that are kept, by their age in seconds and their number. */
  completed: { age: number; count?: number };
  /** Milliseconds that the id of a job is remembered after the job is gone. */
  ids?: number;
}

/** The database under the queue. Everything above it is the same on all databases. */
export interface QueueBackend {
  readonly health: QueueHealth;
  /** For data beside the queue, kept apart from the data of applications with another `prefix`. */
  readonly storage: QueueStorage;
  /** Where BullMQ keeps the jobs: the same database, with BullMQ's own keys and names. */
  readonly jobStorage: QueueStorage;
  readonly memory: AddMemory;
  /** @param partition from 0; only Redis has more than one */
  createQueue(partition: number, options: BatchQueueOptions): BatchJobQueue;
  createWorker(partition: number, processor: BatchProcessor, options: BatchWorkerOptions): BatchJobWorker;
  /** Called when the application begins to close: a database that only one application can use is soon free. */
  announceClose?(): void;
  /**
   * Ends the connections after the queue and the workers were closed. Never waits for a dead server.
   *
   * @param patience milliseconds that a database in this process has to close. @default as long as it takes
   */
  close(patience?: number): Promise<void>;
}

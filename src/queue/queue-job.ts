import {
  ConnectionClosedError,
  type IQueueBackend,
  Job,
  type JobProgress,
  type Queue,
  type withBackend,
} from 'bullmq';
import { types } from 'node:util';
import type { BatchJobData } from './batch-job.js';
import type { BatchQueueOptions, QueueOn } from './queue-backend.js';
import { failureOf } from './queue-failure.js';

type Add = Queue<BatchJobData, void>['add'];
type AddBulk = Queue<BatchJobData, void>['addBulk'];

interface RedisQueueOptions<C> extends BatchQueueOptions {
  connection: C;
  /** Awaited before each add. If it rejects, so does the add. */
  beforeAdd: () => Promise<void>;
}

type BatchQueueClass<B extends IQueueBackend, C> = new (
  name: string,
  options: RedisQueueOptions<C>,
) => QueueOn<B, C>;

/** BullMQ's job, which does three things differently. */
export class QueueJob<
  T = unknown,
  R = unknown,
  N extends string = string,
  P extends JobProgress = JobProgress,
> extends Job<T, R, N, P> {
  /**
   * Creates a job. If its data is not JSON, the data is the stored text: anyone with access to the queue may have
   * written it. BullMQ would throw, so that a worker could neither deliver such a job nor let it fail.
   */
  static override fromJSON<T, R, N extends string>(
    ...[queue, json, jobId]: Parameters<typeof Job.fromJSON>
  ): Job<T, R, N> {
    try {
      return super.fromJSON<T, R, N>(queue, json, jobId);
    } catch (error) {
      if (!isSyntaxError(error)) throw error;
      return super.fromJSON<T, R, N>(queue, { ...json, data: JSON.stringify(json.data) }, jobId);
    }
  }

  /** Handles a refusal like a lost connection, so that BullMQ records the delivery as soon as the server takes it. */
  override async moveToCompleted(
    ...args: Parameters<Job<T, R, N, P>['moveToCompleted']>
  ): Promise<Awaited<ReturnType<Job<T, R, N, P>['moveToCompleted']>>> {
    try {
      return await super.moveToCompleted(...args);
    } catch (error) {
      throw asLostConnection(error);
    }
  }

  /**
   * Fails the job without removing others. BullMQ would remove all jobs that failed longer ago than this job is to be
   * kept, even another application's. `FailedRetention` removes each job in its own time, as its worker is configured
   * now.
   */
  override async moveToFailed(
    ...args: Parameters<Job<T, R, N, P>['moveToFailed']>
  ): Promise<Awaited<ReturnType<Job<T, R, N, P>['moveToFailed']>>> {
    const stored = this.opts.removeOnFail;
    this.opts.removeOnFail = false;
    try {
      return await super.moveToFailed(...args);
    } catch (error) {
      throw asLostConnection(error);
    } finally {
      this.opts.removeOnFail = stored;
    }
  }
}

/** Returns BullMQ's class of a batch queue on Redis, the only engine that stores data as text. */
export function batchQueueOf<B extends IQueueBackend, C>({
  Queue,
}: Pick<ReturnType<typeof withBackend<B, C>>, 'Queue'>): BatchQueueClass<B, C> {
  return class extends Queue<BatchJobData, void> {
    private readonly beforeAdd: () => Promise<void>;

    constructor(name: string, { beforeAdd, ...options }: RedisQueueOptions<C>) {
      super(name, options);
      this.beforeAdd = beforeAdd;
    }

    override async add(...job: Parameters<Add>): Promise<Awaited<ReturnType<Add>>> {
      await this.beforeAdd();
      return super.add(...job);
    }

    override async addBulk(...jobs: Parameters<AddBulk>): Promise<Awaited<ReturnType<AddBulk>>> {
      await this.beforeAdd();
      return super.addBulk(...jobs);
    }

    protected override get Job(): typeof Job {
      return QueueJob;
    }
  };
}

/**
 * Turns a failure of the server, such as the refusals of a replica after a failover, into a lost connection. BullMQ
 * repeats what failed because of a lost connection. After any other error it gives up: the job would be delivered
 * again.
 */
function asLostConnection(error: unknown): unknown {
  return failureOf(error) === undefined ? error : new ConnectionClosedError(undefined, error);
}

/** Whether an error says that a text was not JSON, even if the error is of another realm. */
export function isSyntaxError(error: unknown): boolean {
  return types.isNativeError(error) && error.name === 'SyntaxError';
}

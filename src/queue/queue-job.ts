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
  /** Awaited before each add, which rejects if it rejects. */
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
   * Data need not be JSON, since anyone with access to the queue may have written it: then it is the text. BullMQ throws, so
   * that a worker could neither deliver such a job nor let it fail.
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

  /** What was delivered is recorded as soon as the server takes it, as if the connection had been lost. */
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
   * Removes nothing: BullMQ would remove all jobs that have failed longer ago than this one is to be kept, whosever they
   * are. `FailedRetention` removes each in its own time, as its worker is configured now.
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

/** BullMQ's queue of batches on Redis, the one engine that stores data as a text. */
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
 * A server that refuses to store anything for a while, such as a replica after a failover. BullMQ repeats what failed for a
 * lost connection. What failed for another reason it gives up: the job would be delivered again.
 */
function asLostConnection(error: unknown): unknown {
  return failureOf(error) === undefined ? error : new ConnectionClosedError(undefined, error);
}

/** Whether a text was not JSON. Even where the error is of another realm. */
export function isSyntaxError(error: unknown): boolean {
  return types.isNativeError(error) && error.name === 'SyntaxError';
}

import { type IQueueBackend, Job, type JobProgress, type Queue, type withBackend } from 'bullmq';
import { types } from 'node:util';
import type { BatchJobData } from './batch-job.js';
import type { BatchQueueOptions, QueueOn } from './queue-backend.js';

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

/**
 * BullMQ's job, whose data need not be JSON, since anyone with access to the queue may have written it: then it is the
 * text. BullMQ's own job throws when it is read, so that a worker could neither deliver it nor let it fail.
 */
export class ReadableJob<
  T = unknown,
  R = unknown,
  N extends string = string,
  P extends JobProgress = JobProgress,
> extends Job<T, R, N, P> {
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
      return ReadableJob;
    }
  };
}

/** Whether a text was not JSON. Also where the error is of another realm. */
export function isSyntaxError(error: unknown): boolean {
  return types.isNativeError(error) && error.name === 'SyntaxError';
}

import {
  DelayedError,
  type IQueueBackend,
  type Job,
  type Span,
  type withBackend,
  type WorkerOptions,
} from 'bullmq';
import type { BatchJobData } from './batch-job.js';
import type { BatchProcessor, BatchWorkerOptions, WorkerOn } from './queue-backend.js';
import { QueueJob } from './queue-job.js';
import { Rest } from './rest.js';

type BatchWorkerClass<B extends IQueueBackend, C> = new (
  name: string,
  processor: BatchProcessor,
  options: BatchWorkerOptions & WorkerOptions<C>,
) => WorkerOn<B, C>;

type BatchJob = Job<BatchJobData, void>;

/**
 * Longest time that a worker waits for a job, in seconds. On PostgreSQL, BullMQ would wait until the next delayed job
 * is due, for up to an hour, even if it has missed a notification.
 */
const LONGEST_BLOCK = 10;

/** What BullMQ's own method returns if there is no job, although its type leaves that out. */
const NO_JOB = undefined as unknown as BatchJob;

/**
 * Returns BullMQ's worker class, changed to look for a job only when `look` lets it, and to rest after a look that
 * failed. BullMQ itself would look again at once, unless the connection was lost. If the error came without a delay,
 * nothing else in the process would ever run again.
 */
export function batchWorkerOf<B extends IQueueBackend, C>({
  Worker,
}: Pick<ReturnType<typeof withBackend<B, C>>, 'Worker'>): BatchWorkerClass<B, C> {
  return class extends Worker<BatchJobData, void> {
    private readonly look: BatchWorkerOptions['look'];
    private readonly end: BatchWorkerOptions['end'];
    private readonly retryDelay: number;
    private readonly rest = new Rest();

    constructor(
      name: string,
      processor: BatchProcessor,
      { look, end, ...options }: BatchWorkerOptions & WorkerOptions<C>,
    ) {
      super(name, processor, options);
      this.look = look;
      this.end = end;
      this.retryDelay = options.runRetryDelay;
    }

    protected override moveToActive(token: string, name?: string): Promise<BatchJob> {
      return this.look(async () => {
        await this.rest.over();
        if (this.hasEnded()) return NO_JOB;
        try {
          return await super.moveToActive(token, name);
        } catch (error) {
          if (!this.hasEnded()) this.rest.begin(this.retryDelay);
          throw error;
        }
      });
    }

    protected override handleCompleted(
      result: undefined,
      job: BatchJob,
      token: string,
      fetchNext?: () => boolean,
      span?: Span,
    ): Promise<BatchJob> {
      return this.end(fetchNext?.() ?? true, (isFetched) =>
        super.handleCompleted(result, job, token, () => isFetched, span),
      );
    }

    protected override handleFailed(
      error: Error,
      job: BatchJob,
      token: string,
      fetchNext?: () => boolean,
      span?: Span,
    ): Promise<BatchJob> {
      // A job that goes back to the queue fetches no other job: BullMQ looks for the next one itself.
      if (error instanceof DelayedError) return super.handleFailed(error, job, token, fetchNext, span);
      return this.end(fetchNext?.() ?? true, (isFetched) =>
        super.handleFailed(error, job, token, () => isFetched, span),
      );
    }

    override pause(doNotWaitActive?: boolean): Promise<void> {
      const paused = super.pause(doNotWaitActive);
      this.rest.end();
      return paused;
    }

    override close(force?: boolean): Promise<void> {
      const closed = super.close(force);
      this.rest.end();
      return closed;
    }

    // After a failed check for stalled jobs, BullMQ would wait for five seconds, even if it is closed meanwhile.
    // The next check comes after `stalledInterval` anyway.
    protected override checkConnectionError<T>(check: () => Promise<T>): Promise<T | undefined> {
      return super.checkConnectionError(check, 0);
    }

    protected override get Job(): typeof Job {
      return QueueJob;
    }

    protected override getBlockTimeout(blockUntil: number): number {
      return Math.min(super.getBlockTimeout(blockUntil), LONGEST_BLOCK);
    }

    private hasEnded(): boolean {
      return this.closing !== undefined || this.isPaused();
    }
  };
}

import type { IQueueBackend, Job, withBackend, WorkerOptions } from 'bullmq';
import type { BatchJobData } from './batch-job.js';
import type { BatchProcessor, BatchWorkerOptions, WorkerOn } from './queue-backend.js';

type BatchWorkerClass<B extends IQueueBackend, C> = new (
  name: string,
  processor: BatchProcessor,
  options: BatchWorkerOptions & WorkerOptions<C>,
) => WorkerOn<B, C>;

type BatchJob = Job<BatchJobData, void>;

/** What BullMQ's own method returns where there is no job. Its types know nothing of that. */
const NO_JOB = undefined as unknown as BatchJob;

/** BullMQ's worker, which looks for a job when it is told to. */
export function batchWorkerOf<B extends IQueueBackend, C>({
  Worker,
}: Pick<ReturnType<typeof withBackend<B, C>>, 'Worker'>): BatchWorkerClass<B, C> {
  return class extends Worker<BatchJobData, void> {
    private readonly look: BatchWorkerOptions['look'];

    constructor(
      name: string,
      processor: BatchProcessor,
      { look, ...options }: BatchWorkerOptions & WorkerOptions<C>,
    ) {
      super(name, processor, options);
      this.look = look;
    }

    protected override moveToActive(token: string, name?: string): Promise<BatchJob> {
      return this.look(() => {
        const hasEnded = this.closing !== undefined || this.isPaused();
        return hasEnded ? Promise.resolve(NO_JOB) : super.moveToActive(token, name);
      });
    }

    // BullMQ would wait for five seconds after a check for stalled jobs that failed, also when it is closed
    // meanwhile. The next check comes after `stalledInterval` anyway.
    protected override checkConnectionError<T>(check: () => Promise<T>): Promise<T | undefined> {
      return super.checkConnectionError(check, 0);
    }
  };
}

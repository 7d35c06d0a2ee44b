import { Job, type JobsOptions } from 'bullmq';
import {
  BATCH_JOB_VERSION,
  type BatchJobData,
  type JobTerms,
  type LeftBatch,
  type NewJob,
  type QueuedBatch,
} from './batch-job.js';
import type { AddMemory, BatchJobQueue } from './queue-backend.js';
import { storedData } from './shared-bodies.js';

/** More attempts than fit into any retry window. PostgreSQL cannot store a larger number. */
const ATTEMPTS = 2 ** 31 - 1;
const DEFAULT_MEMORY: AddMemory = { completed: { age: 300, count: 100 } };

const JOB_NAME = 'batch';
const NO_DATA: BatchJobData = { v: BATCH_JOB_VERSION, batches: [] };

type JobToAdd = Parameters<BatchJobQueue['addBulk']>[0][number];

/** Adds batches to the queue as jobs. */
export class BatchQueue {
  /** @param onAdded called with the messages for a destination that were not in the queue before */
  constructor(
    private readonly queue: BatchJobQueue,
    private readonly onAdded: (destination: string, messages: number) => void = () => undefined,
    private readonly memory: AddMemory = DEFAULT_MEMORY,
  ) {}

  /** Resolves once all of the jobs are in the queue. For some minutes, adding one again is harmless. */
  async add(jobs: readonly NewJob[]): Promise<void> {
    const { ids } = this.memory;
    await this.addJobs(
      jobs.map((job) =>
        jobOf(batchesOf(job), {
          ...this.optionsOf(job),
          ...(ids !== undefined && { deduplication: { id: job.jobId, ttl: ids } }),
        }),
      ),
    );
    for (const { batches } of jobs) {
      for (const { destination, messages } of batches) this.onAdded(destination, messages.length);
    }
  }

  /**
   * The same for the rests of batches: each is due when it may be tried again. A rest that is due at once
   * goes to the front, since it has waited before.
   */
  putBack(left: readonly LeftBatch[]): Promise<void> {
    const now = Date.now();
    return this.addJobs(
      left.map(({ batch, dueAt = now, ...terms }) => {
        const delay = Math.max(dueAt - now, 0);
        return jobOf([batch], { ...this.optionsOf(terms), ...(delay > 0 ? { delay } : { lifo: true }) });
      }),
    );
  }

  /** Makes the queue hand out a put-back job now. Rejects if the job is not delayed any more. */
  async promote(jobId: string): Promise<void> {
    // The job is not read from the queue, since its data may be half a megabyte.
    await new Job(this.queue, JOB_NAME, NO_DATA, {}, jobId).promote();
  }

  private optionsOf({ jobId, failedRetention }: JobTerms): JobsOptions {
    return {
      jobId,
      attempts: ATTEMPTS,
      backoff: { type: 'custom' },
      stackTraceLimit: 1,
      removeOnComplete: this.memory.completed,
      removeOnFail: { age: Math.ceil(failedRetention / 1000) },
    };
  }

  private async addJobs(jobs: JobToAdd[]): Promise<void> {
    const [job] = jobs;
    // For a single job, a bulk would only cost more.
    if (job !== undefined && jobs.length === 1) await this.queue.add(job.name, job.data, job.opts);
    else await this.queue.addBulk(jobs);
  }
}

function jobOf(batches: QueuedBatch[], opts: JobsOptions): JobToAdd {
  return { name: JOB_NAME, data: storedData({ v: BATCH_JOB_VERSION, batches }), opts };
}

function batchesOf({ batches }: NewJob): QueuedBatch[] {
  return batches.map(({ destination, source, messages }) => ({
    destination,
    source,
    messages: messages.map(({ id, body, call }) =>
      call === undefined ? { id, body, outcomes: [] } : { id, body, outcomes: [], call },
    ),
  }));
}

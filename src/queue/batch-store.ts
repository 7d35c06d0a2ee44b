import { BATCH_JOB_VERSION, type BatchMessage, failedRetentionOf, type QueuedBatch } from './batch-job.js';
import type { BatchJobQueue } from './queue-backend.js';

/** Where a job of the queue stands: not yet taken, being delivered, put back for later, failed for good. */
export type BatchState = 'waiting' | 'active' | 'delayed' | 'failed';

const WAY: readonly BatchState[] = ['delayed', 'waiting', 'active', 'failed'];

/** Jobs that are read at once: the largest hold half a megabyte each. */
const PAGE = 10;

/** A batch as the queue holds it, in a job of its own or one that it shares. */
export interface StoredBatch {
  jobId: string;
  state: BatchState;
  data: QueuedBatch;
  /** Why the job failed for good; begins with a stable code. */
  failedReason: string | undefined;
  /** When the job failed for good, in milliseconds since the epoch. */
  failedAt: number | undefined;
  /** Milliseconds that the job is kept if it fails for good. */
  failedRetention: number;
}

type StoredJob = NonNullable<Awaited<ReturnType<BatchJobQueue['getJob']>>>;

/** Reads the batches of the queue and changes those that failed for good. Jobs of an unknown format are left out. */
export class BatchStore {
  constructor(private readonly queue: BatchJobQueue) {}

  /**
   * The batches of some states, one state after the other and the newest first, each once. Their ids are
   * read all at once, since offsets shift while the queue moves; the jobs are read page by page.
   */
  async *batches(states: readonly BatchState[]): AsyncGenerator<StoredBatch, void> {
    const found = new Map<string, BatchState>();
    // In the order in which jobs move, so that one on its way is met at one end of it at least.
    for (const state of WAY.filter((each) => states.includes(each))) {
      for (const id of await this.queue.getRanges([state], 0, -1)) found.set(id, state);
    }
    for (const state of states) {
      const ids = [...found.keys()].filter((id) => found.get(id) === state);
      for (let start = 0; start < ids.length; start += PAGE) {
        const page = ids.slice(start, start + PAGE);
        const jobs = await Promise.all(page.map((id) => this.queue.getJob(id)));
        for (const job of jobs) if (isReadable(job)) yield* storedBatches(job, state);
      }
    }
  }

  /**
   * Removes messages from a failed job, and the job with the last of them. It is read again for that:
   * others may have removed some meanwhile, which are not to come back.
   */
  async remove(jobId: string, messages: readonly BatchMessage[]): Promise<void> {
    const job = await this.queue.getJob(jobId);
    if (!isReadable(job)) return;
    const isLeft = ({ id, body }: BatchMessage): boolean =>
      !messages.some((message) => message.id === id && message.body === body);
    const left = job.data.batches
      .map((batch) => ({ ...batch, messages: batch.messages.filter(isLeft) }))
      .filter((batch) => batch.messages.length > 0);
    if (left.length > 0) await job.updateData({ ...job.data, batches: left });
    else await this.queue.remove(jobId);
  }
}

function isReadable(job: StoredJob | undefined): job is StoredJob {
  return job?.data.v === BATCH_JOB_VERSION;
}

function storedBatches(job: StoredJob, state: BatchState): StoredBatch[] {
  return job.data.batches.map((data) => ({
    jobId: job.id ?? '',
    state,
    data,
    failedReason: job.failedReason,
    failedAt: job.finishedOn,
    failedRetention: failedRetentionOf(job.opts),
  }));
}

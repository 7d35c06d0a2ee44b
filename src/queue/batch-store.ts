import type { BatchMessage, QueuedBatch } from './batch-job.js';
import type { BatchState } from './job-ids.js';
import type { JobSelection } from './job-reading.js';
import { PartitionStore } from './partition-store.js';
import { jobKeyOf, jobOfKey } from './partitions.js';
import type { BatchJobQueue, QueueStorage } from './queue-backend.js';
import type { StoredJob } from './stored-job.js';

export { type BatchState, WAITING_COUNTS } from './job-ids.js';
export type { StoredJob } from './stored-job.js';

type JobInState = [job: StoredJob, state: BatchState];

/**
 * Reads the jobs of the queue, over all its partitions, and removes messages from them. The id of a job says
 * which partition it is in.
 */
export class BatchStore {
  private readonly opened: PartitionStore[] = [];

  /** @param queues the partitions; the list may grow */
  constructor(
    private readonly queues: readonly BatchJobQueue[],
    private readonly storage: QueueStorage,
  ) {}

  /** Yields the jobs of some states, one state after the other, newest first: see `JobReading`. */
  async *jobs(selection: JobSelection): AsyncGenerator<JobInState, void> {
    const { states } = selection;
    const sources = this.stores.map((store, partition) => ({ partition, jobs: store.jobs(selection) }));
    const heads = await Promise.all(sources.map(headOf));
    for (;;) {
      const first = heads.reduce<Head | undefined>(
        (one, other) => (isBefore(other, one, states) ? other : one),
        undefined,
      );
      if (first === undefined) return;
      yield first.found;
      heads[first.partition] = await headOf(first);
    }
  }

  /** Yields the ids of the jobs that are in a state, page by page: there may be a million. */
  async *ids(state: BatchState): AsyncGenerator<string[], void> {
    for (const [partition, store] of this.stores.entries()) {
      for await (const ids of store.idsIn(state)) yield ids.map((id) => jobKeyOf(partition, id));
    }
  }

  /**
   * Resolves to the time when the job that has waited longest for a worker was added, in milliseconds since the
   * epoch; `undefined` if no job waits for a worker.
   */
  async oldestWaiting(): Promise<number | undefined> {
    const times = await Promise.all(this.stores.map((store) => store.oldestWaiting()));
    const oldest = Math.min(...times.map((time) => time ?? Infinity));
    return Number.isFinite(oldest) ? oldest : undefined;
  }

  /** Reads the jobs with these ids. Jobs that are gone are left out. */
  async read(ids: readonly string[]): Promise<StoredJob[]> {
    const jobs = await Promise.all(
      ids.map(async (id) => {
        const { partition, jobId } = jobOfKey(id);
        const job = await this.stores[partition]?.readOne(jobId);
        return job && { ...job, jobId: id };
      }),
    );
    return jobs.filter((job) => job !== undefined);
  }

  /** Whether a job is being delivered. */
  async isActive(id: string): Promise<boolean> {
    const { partition, jobId } = jobOfKey(id);
    return (await this.stores[partition]?.isActive(jobId)) ?? false;
  }

  /** Decides which jobs deliver messages of a failed batch again: see `PartitionStore`. */
  async assignReplays(
    id: string,
    batch: QueuedBatch,
    idOf: (messages: readonly BatchMessage[]) => string,
  ): Promise<ReadonlyMap<string, BatchMessage[]>> {
    const { partition, jobId } = jobOfKey(id);
    return (
      (await this.stores[partition]?.assignReplays(jobId, batch, idOf)) ?? new Map<string, BatchMessage[]>()
    );
  }

  /**
   * Removes the messages that `isMeant` selects from a job, and the job together with its last message. Returns the
   * batches with the messages that were removed.
   */
  async removeWhere(
    id: string,
    isMeant: (message: BatchMessage, batch: QueuedBatch) => boolean,
  ): Promise<QueuedBatch[]> {
    const { partition, jobId } = jobOfKey(id);
    return (await this.stores[partition]?.removeWhere(jobId, isMeant)) ?? [];
  }

  private get stores(): readonly PartitionStore[] {
    for (const queue of this.queues.slice(this.opened.length)) {
      this.opened.push(new PartitionStore(queue, this.storage));
    }
    return this.opened;
  }
}

interface JobSource {
  partition: number;
  jobs: AsyncGenerator<JobInState, void>;
}

/** The next job of a partition, and the source of the jobs after it. */
interface Head extends JobSource {
  found: JobInState;
}

async function headOf({ partition, jobs }: JobSource): Promise<Head | undefined> {
  const { value } = await jobs.next();
  if (value === undefined) return undefined;
  const [job, state] = value;
  return { partition, jobs, found: [{ ...job, jobId: jobKeyOf(partition, job.jobId) }, state] };
}

function isBefore(one: Head | undefined, other: Head | undefined, states: readonly BatchState[]): boolean {
  if (one === undefined || other === undefined) return one !== undefined;
  const order = states.indexOf(one.found[1]) - states.indexOf(other.found[1]);
  return order === 0 ? timeOf(one) > timeOf(other) : order < 0;
}

/** Returns when a job failed, or when it was added if it has not failed. */
function timeOf({ found: [{ failedAt, addedAt }] }: Head): number {
  return failedAt ?? addedAt;
}

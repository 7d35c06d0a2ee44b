import type { JobType } from 'bullmq';
import { InvalidJobError } from '../errors/delivery.errors.js';
import { TimeSlice } from '../shared/time-slice.js';
import { type BatchMessage, failedRetentionOf, type QueuedBatch } from './batch-job.js';
import { JobData } from './job-data.js';
import { type BatchState, JobIds, UNENDED_STATES, WAITING_TYPES } from './job-ids.js';
import type { BatchJobQueue, QueueStorage } from './queue-backend.js';
import { type JobProblem, readJob } from './read-job.js';
import { oldestWaitingIn } from './postgres/oldest-waiting.js';
import { isSyntaxError } from './queue-job.js';
import { storedData } from './shared-bodies.js';

/** In the order in which jobs move, so that one that moves meanwhile is still found in at least one state. */
const PATH: readonly BatchState[] = [...UNENDED_STATES, 'failed'];

/** Jobs read at once: the largest hold half a megabyte each. */
const PAGE = 10;

/** How many jobs are looked at for one that no worker has taken yet. Those that wait longest come first. */
const HEAD = 20;

/** A job as the queue holds it. */
export interface StoredJob {
  jobId: string;
  /** When a producer added it, in milliseconds since the epoch. */
  addedAt: number;
  /** Empty if the job cannot be read. */
  batches: QueuedBatch[];
  /** Why the job cannot be read, and its data as JSON. */
  unreadable: { problem: JobProblem; json: string } | undefined;
  /** Why the job failed for good; begins with a stable code. */
  failedReason: string | undefined;
  /** When the job failed for good, in milliseconds since the epoch. */
  failedAt: number | undefined;
  /** Milliseconds that the job is kept if it fails for good. */
  failedRetention: number;
}

/** Which jobs are read. */
export interface JobSelection {
  states: readonly BatchState[];
  /** Leaves out the jobs whose ids say that they are for others. @default none are left out */
  destinations?: ReadonlySet<string> | undefined;
  /** Ends the reading, which then rejects with its reason. */
  signal?: AbortSignal | undefined;
}

/** The jobs of one partition, whoever wrote them. */
export class PartitionStore {
  private readonly data: JobData;
  private readonly ids: JobIds;

  constructor(
    private readonly queue: BatchJobQueue,
    private readonly storage: QueueStorage,
  ) {
    this.data = new JobData(queue, storage);
    this.ids = new JobIds(queue, storage);
  }

  /**
   * The jobs of some states, one state after the other, newest first, each once. The ids are all read first,
   * since jobs move meanwhile. The jobs are then read page by page.
   */
  async *jobs(selection: JobSelection): AsyncGenerator<[job: StoredJob, state: BatchState], void> {
    const { states, signal } = selection;
    const slice = new TimeSlice();
    const found = await this.find(selection);
    for (const state of states) {
      let page: string[] = [];
      for (const [id, foundIn] of found) {
        if (foundIn === state && page.push(id) === PAGE) {
          for (const job of await this.read(page)) yield [job, state];
          page = [];
        }
        if (!slice.isOver) continue;
        await slice.pause();
        signal?.throwIfAborted();
      }
      for (const job of await this.read(page)) yield [job, state];
    }
  }

  /** The ids of the jobs that are in a state now. */
  async idsIn(state: BatchState): Promise<string[]> {
    return [...(await this.find({ states: [state] })).keys()];
  }

  /** The ids of jobs, and the state in which each was seen last. */
  private async find({ states, destinations, signal }: JobSelection): Promise<Map<string, BatchState>> {
    const slice = new TimeSlice();
    const found = new Map<string, BatchState>();
    for (const state of PATH.filter((each) => states.includes(each))) {
      for await (const ids of this.ids.inState(state, destinations)) {
        signal?.throwIfAborted();
        for (const id of ids) {
          found.set(id, state);
          if (slice.isOver) await slice.pause();
        }
      }
    }
    return found;
  }

  /**
   * When the job was added that has waited longest for a worker, in milliseconds since the epoch; `undefined` if
   * none waits. One that a worker took before has waited for its next attempt, and does not count.
   */
  async oldestWaiting(): Promise<number | undefined> {
    if (this.storage.kind === 'postgres') return oldestWaitingIn(this.storage.pool, this.queue.name);
    const times = await Promise.all(WAITING_TYPES.map((type) => this.oldestOf(type)));
    const oldest = Math.min(...times.map((time) => time ?? Infinity));
    return Number.isFinite(oldest) ? oldest : undefined;
  }

  private async oldestOf(type: JobType): Promise<number | undefined> {
    for (const id of await this.queue.getRanges([type], 0, HEAD - 1, true)) {
      const job = await this.queue.getJob(id);
      if (job?.attemptsStarted === 0) return job.timestamp;
    }
    return undefined;
  }

  /** The jobs with these ids. Jobs that are gone are left out. */
  async read(ids: readonly string[]): Promise<StoredJob[]> {
    const jobs = await Promise.all(ids.map((id) => this.readOne(id)));
    return jobs.filter((job) => job !== undefined);
  }

  /**
   * Removes messages of one batch from a job, and removes the job together with its last message. Other
   * batches of the job may hold the same messages, and keep them.
   */
  async remove(jobId: string, { destination, source, messages }: QueuedBatch): Promise<void> {
    // The application chooses the ids, and may have given one to several messages.
    const bodies = new Set(messages.map(({ id, body }) => `${id} ${body}`));
    await this.removeWhere(
      jobId,
      ({ id, body }, batch) =>
        batch.destination === destination && batch.source === source && bodies.has(`${id} ${body}`),
    );
  }

  /**
   * The same for messages that a function selects. If several callers remove messages of one job at the same
   * time, none restores what another one removed. A job that is being delivered keeps its last message.
   *
   * @returns the batches with the messages that were removed from them
   */
  async removeWhere(
    jobId: string,
    isMeant: (message: BatchMessage, batch: QueuedBatch) => boolean,
  ): Promise<QueuedBatch[]> {
    const found = { removed: new Array<QueuedBatch>(), isEmptied: false };
    await this.data.change(jobId, (data) => {
      const read = readJob(data);
      if (!('batches' in read)) return undefined;
      const batches = messagesWhere(read.batches, (message, batch) => !isMeant(message, batch));
      found.removed = messagesWhere(read.batches, isMeant);
      found.isEmptied = batches.length === 0;
      return found.isEmptied || found.removed.length === 0 ? undefined : storedData({ ...read, batches });
    });
    if (found.isEmptied && (await this.queue.remove(jobId)) === 0) return [];
    return found.removed;
  }

  /** The job with this id, if it is still there. */
  async readOne(id: string): Promise<StoredJob | undefined> {
    try {
      const job = await this.queue.getJob(id);
      if (job === undefined) return undefined;
      const read = readJob(job.data);
      const isReadable = 'batches' in read;
      return {
        jobId: id,
        addedAt: job.timestamp,
        batches: isReadable ? read.batches : [],
        unreadable: isReadable ? undefined : { problem: read, json: JSON.stringify(job.data) },
        failedReason: job.failedReason,
        failedAt: job.finishedOn,
        failedRetention: failedRetentionOf(job.opts),
      };
    } catch (error) {
      // Its options or its progress are not JSON. Any other error belongs to the queue.
      if (!isSyntaxError(error)) throw error;
      return unparsable(id);
    }
  }
}

function unparsable(jobId: string): StoredJob {
  return {
    jobId,
    addedAt: 0,
    batches: [],
    unreadable: { problem: new InvalidJobError('opts', 'JSON'), json: '' },
    failedReason: undefined,
    failedAt: undefined,
    failedRetention: failedRetentionOf({}),
  };
}

/** The batches with those of their messages that a function selects. */
function messagesWhere(
  batches: readonly QueuedBatch[],
  isMeant: (message: BatchMessage, batch: QueuedBatch) => boolean,
): QueuedBatch[] {
  return batches
    .map((batch) => ({ ...batch, messages: batch.messages.filter((message) => isMeant(message, batch)) }))
    .filter(({ messages }) => messages.length > 0);
}

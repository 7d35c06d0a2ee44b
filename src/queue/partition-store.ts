import { type BatchMessage, failedRetentionOf, type QueuedBatch } from './batch-job.js';
import { JobData } from './job-data.js';
import { type BatchState, JobIds } from './job-ids.js';
import { JobReading, type JobSelection } from './job-reading.js';
import { JobRemoval } from './job-removal.js';
import { oldestWaitingIn } from './postgres/oldest-waiting.js';
import type { BatchJobQueue, QueueStorage } from './queue-backend.js';
import { isSyntaxError } from './queue-job.js';
import { readJob } from './read-job.js';
import { oldestWaitingOn } from './redis/oldest-waiting.js';
import { RedisScript } from './redis/redis-script.js';
import { storedData } from './stored-data.js';
import { type StoredJob, unparsable } from './stored-job.js';

/** Keys: the lock that a job's worker holds. */
const IS_LOCKED = new RedisScript(`return redis.call('EXISTS', KEYS[1])`);

/** The jobs of one partition, whoever wrote them. */
export class PartitionStore {
  private readonly data: JobData;
  private readonly ids: JobIds;
  private readonly removal: JobRemoval;

  constructor(
    private readonly queue: BatchJobQueue,
    private readonly storage: QueueStorage,
  ) {
    this.data = new JobData(queue, storage);
    this.ids = new JobIds(queue, storage);
    this.removal = new JobRemoval(queue, storage);
  }

  /** Yields the jobs of some states, one state after the other, newest first: see `JobReading`. */
  jobs(selection: JobSelection): AsyncGenerator<[job: StoredJob, state: BatchState], void> {
    return new JobReading(selection, this.ids, (ids) => this.read(ids)).jobs();
  }

  /** Yields the ids of the jobs that are in a state, page by page. */
  idsIn(state: BatchState): AsyncGenerator<string[], void> {
    return this.ids.inState(state);
  }

  /**
   * Resolves to the time when the job that has waited longest for a worker was added, in milliseconds since the
   * epoch; `undefined` if none waits. A job that a worker took before has waited for its next attempt, and does
   * not count.
   */
  oldestWaiting(): Promise<number | undefined> {
    const { queue, storage } = this;
    return storage.kind === 'postgres'
      ? oldestWaitingIn(storage.pool, queue.name)
      : oldestWaitingOn(storage.client, queue);
  }

  /** Reads the jobs with these ids. Jobs that are gone are left out. */
  async read(ids: readonly string[]): Promise<StoredJob[]> {
    const jobs = await Promise.all(ids.map((id) => this.readOne(id)));
    return jobs.filter((job) => job !== undefined);
  }

  /** Whether a job is being delivered. */
  async isActive(jobId: string): Promise<boolean> {
    const { storage, queue } = this;
    if (storage.kind === 'postgres') return (await queue.getJobState(jobId)) === 'active';
    // BullMQ would look through the lists of jobs, which may be long.
    return (await IS_LOCKED.run(storage.client, [queue.toKey(`${jobId}:lock`)], [])) === 1;
  }

  /**
   * Decides which jobs deliver messages of a failed batch again, before these jobs are added. A caller that replays
   * some of the same messages at the same time, in any process, or after a crash, gets the same jobs for them. Adding
   * such a job again is harmless.
   *
   * @param idOf returns the id of the job for messages that have none yet
   * @returns the messages of each of these jobs by its id, including messages that only another caller replays
   */
  async assignReplays(
    jobId: string,
    { destination, source, messages }: QueuedBatch,
    idOf: (messages: readonly BatchMessage[]) => string,
  ): Promise<ReadonlyMap<string, BatchMessage[]>> {
    // The application chooses the ids of messages, and may have given the same id to several.
    const bodies = new Set(messages.map(({ id, body }) => `${id} ${body}`));
    let given = new Map<string, BatchMessage[]>();
    const isThere = await this.data.change(jobId, (data) => {
      given = new Map();
      const read = readJob(data);
      if (!('batches' in read)) return undefined;
      // Other batches of the job may hold the same messages, which stay unchanged.
      const isMeant = (message: BatchMessage, batch: QueuedBatch): boolean =>
        batch.destination === destination &&
        batch.source === source &&
        bodies.has(`${message.id} ${message.body}`);
      const meant = messagesWhere(read.batches, isMeant).flatMap((batch) => batch.messages);
      const free = meant.filter(({ replay }) => replay === undefined);
      const next = free.length === 0 ? undefined : idOf(free);
      const batches = read.batches.map((batch) => ({
        ...batch,
        messages: batch.messages.map((message) =>
          next !== undefined && message.replay === undefined && isMeant(message, batch)
            ? { ...message, replay: next }
            : message,
        ),
      }));
      for (const { replay = next } of meant) if (replay !== undefined) given.set(replay, []);
      for (const message of batches.flatMap((batch) => batch.messages))
        if (message.replay !== undefined) given.get(message.replay)?.push(message);
      return next === undefined ? undefined : storedData({ ...read, batches });
    });
    // If the job is gone, another replay may have taken its messages.
    return isThere ? given : new Map();
  }

  /**
   * Removes the messages that `isMeant` selects from a job, and removes the job together with its last message. If
   * several callers do so at the same time, none restores a message that another removed, and each message is
   * returned to only one of them. A job that is being delivered keeps its last message.
   *
   * @returns the batches with the messages that were removed from them
   */
  async removeWhere(
    jobId: string,
    isMeant: (message: BatchMessage, batch: QueuedBatch) => boolean,
  ): Promise<QueuedBatch[]> {
    const found = { removed: new Array<QueuedBatch>(), isEmptied: false };
    const isThere = await this.data.change(jobId, (data) => {
      const read = readJob(data);
      if (!('batches' in read)) return undefined;
      const batches = messagesWhere(read.batches, (message, batch) => !isMeant(message, batch));
      found.removed = messagesWhere(read.batches, isMeant);
      found.isEmptied = batches.length === 0;
      return found.isEmptied || found.removed.length === 0 ? undefined : storedData({ ...read, batches });
    });
    if (!isThere || (found.isEmptied && !(await this.removal.remove(jobId)))) return [];
    return found.removed;
  }

  /** Reads the job with this id, if it is still there. */
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
      // The job's options or progress are not JSON. Any other error comes from the queue.
      if (!isSyntaxError(error)) throw error;
      return unparsable(id);
    }
  }
}

/** Returns the batches with only those messages that `isMeant` selects. */
function messagesWhere(
  batches: readonly QueuedBatch[],
  isMeant: (message: BatchMessage, batch: QueuedBatch) => boolean,
): QueuedBatch[] {
  return batches
    .map((batch) => ({ ...batch, messages: batch.messages.filter((message) => isMeant(message, batch)) }))
    .filter(({ messages }) => messages.length > 0);
}

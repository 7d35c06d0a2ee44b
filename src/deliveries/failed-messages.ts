import { createHash } from 'node:crypto';
import type { DestinationRegistry } from '../destinations/destination-registry.js';
import {
  DestinationNotFoundError,
  type OtherApplicationError,
  ReplayIncompleteError,
} from '../errors/delivery.errors.js';
import { DestinationKeyError, InvalidDestinationError } from '../errors/destination.errors.js';
import type { QueuedBatch } from '../queue/batch-job.js';
import type { BatchQueue } from '../queue/batch-queue.js';
import type { BatchState, BatchStore, StoredJob } from '../queue/batch-store.js';
import { replayJobId } from '../queue/job-id.js';
import type { DeletedUsers } from './deleted-users.js';
import {
  type FailedFilter,
  type FailedMessage,
  failedMessage,
  failedMessages,
  matcherOf,
  withType,
} from './failed-filter.js';
import { Replay, type SkippedDestinations } from './replay.js';

/** A replay of what failed for this reason means it. */
const OTHER_APPLICATION = 'OTHER_APPLICATION' satisfies OtherApplicationError['code'];

/** Where the jobs are that have not ended. A message of theirs may have failed for good before the rest. */
const UNENDED = ['delayed', 'waiting', 'active'] as const satisfies BatchState[];

/** How many messages `failed()` returns by default. */
const DEFAULT_COUNT = 100;

/** Selects messages that failed for good, to be read. */
export interface FailedCountQuery extends FailedFilter {
  /** Ends the reading, which then rejects with the signal's reason. It may take minutes where much is queued. */
  signal?: AbortSignal;
}

/** Selects messages that failed for good: those that match, from one position to another. */
export interface FailedQuery extends FailedCountQuery {
  /** Position of the first one, from 0. @default 0 */
  start?: number;
  /** Position of the last one. @default 99 after `start` */
  end?: number;
  /**
   * `false` leaves out messages whose batch is still retried for others. Only for those is everything read that waits
   * for the destination, or for several, and there may be a million.
   *
   * @default true
   */
  waiting?: boolean;
}

/** The messages that failed for good and are kept. */
export class FailedMessages {
  constructor(
    private readonly store: BatchStore,
    private readonly queue: BatchQueue,
    private readonly destinations: DestinationRegistry,
    private readonly deleted: Pick<DeletedUsers, 'without'>,
  ) {}

  /** The matching messages, latest first. Those whose batch is still retried for other messages come last. */
  async list({
    start = 0,
    end = start + DEFAULT_COUNT - 1,
    waiting = true,
    signal,
    ...filter
  }: FailedQuery): Promise<FailedMessage[]> {
    const found: FailedMessage[] = [];
    const matches = matcherOf(filter);
    let position = 0;
    const states: BatchState[] = waiting ? ['failed', ...UNENDED] : ['failed'];
    const destinations = destinationsOf(filter);
    for await (const [job, state] of this.store.jobs({ states, destinations, signal })) {
      signal?.throwIfAborted();
      for (const failed of failedMessages(job, state)) {
        if (position > end) return found;
        if (matches(failed) && position++ >= start) found.push(withType(failed));
      }
    }
    return found;
  }

  /**
   * Delivers the matching messages again, and returns how many. Messages are left alone if their destination
   * does not exist, is disabled, has wrong fields or secrets that cannot be decrypted, their batch is still retried or
   * another application's, or their job cannot be read. Messages of deleted users are left to the deletion.
   *
   * @throws DestinationNotFoundError, InvalidDestinationError, DestinationKeyError when the filter names such a
   *   destination; ReplayIncompleteError at the end, if some could not be looked up
   */
  async replay(filter: FailedFilter): Promise<number> {
    if (filter.destination !== undefined && !(await this.destinations.find(filter.destination)))
      throw new DestinationNotFoundError(filter.destination);
    // From here, another application's would go to other URLs.
    const isMeant = (batch: QueuedBatch): boolean =>
      filter.error === OTHER_APPLICATION || this.queue.isOwn(batch);
    const replay = this.replayOf(filter, isMeant);
    const replayed = await this.run(replay, destinationsOf(filter));
    if (replay.skipped.size > 0) throw new ReplayIncompleteError(replayed, replay.skipped);
    return replayed;
  }

  /**
   * Delivers again what was kept because its destination was disabled.
   *
   * @param isMeant asked for each destination of such messages
   * @param destinations it says no of all others. @default unknown
   */
  async replayKept(
    isMeant: (destination: string) => Promise<boolean>,
    destinations?: ReadonlySet<string>,
  ): Promise<SkippedDestinations> {
    const replay = this.replayOf({ error: 'DESTINATION_DISABLED' }, ({ destination }) =>
      isMeant(destination),
    );
    await this.run(replay, destinations);
    return replay.skipped;
  }

  /** How many messages match that are not tried any more, those that `replay` leaves alone included. */
  async count({ signal, ...filter }: FailedCountQuery): Promise<number> {
    const matches = matcherOf(filter);
    let count = 0;
    const destinations = destinationsOf(filter);
    for await (const [job] of this.store.jobs({ states: ['failed'], destinations, signal })) {
      signal?.throwIfAborted();
      count += failedMessages(job, 'failed').filter(matches).length;
    }
    return count;
  }

  /** @param isMeant asked before anything else of a batch whose messages match */
  private replayOf(
    filter: FailedFilter,
    isMeant: (batch: QueuedBatch) => boolean | Promise<boolean>,
  ): Replay {
    return new Replay(
      matcherOf(filter),
      async (batch) => (await isMeant(batch)) && (await this.isDeliverable(batch.destination)),
    );
  }

  private async run(replay: Replay, destinations: ReadonlySet<string> | undefined): Promise<number> {
    let replayed = 0;
    for await (const [job] of this.store.jobs({ states: ['failed'], destinations })) {
      replayed += await this.replayJob(job, replay);
    }
    return replayed;
  }

  private async replayJob(job: StoredJob, replay: Replay): Promise<number> {
    let replayed = 0;
    for (const batch of job.batches) {
      const messages = batch.messages.filter((message) => replay.matches(failedMessage(job, batch, message)));
      if (messages.length > 0 && (await replay.takes(batch)))
        replayed += await this.replayBatch(job, { ...batch, messages });
    }
    return replayed;
  }

  /** Another replay may have taken some of its messages since the job was listed, and may take some now. */
  private async replayBatch(job: StoredJob, batch: QueuedBatch): Promise<number> {
    const { jobId, failedRetention } = job;
    const { destination, source, firstAttemptAt = job.addedAt } = batch;
    const messages = await this.deleted.without(
      batch.messages,
      source,
      Math.min(job.addedAt, firstAttemptAt),
    );
    if (messages.length === 0) return 0;
    const jobs = await this.store.assignReplays(jobId, { destination, source, messages }, (given) =>
      replayId(jobId, { destination, source, messages: [...given] }),
    );
    let replayed = 0;
    for (const [id, given] of jobs) {
      // Added first, removed after: a crash in between loses nothing.
      await this.queue.addUncounted([
        { jobId: id, failedRetention, batches: [{ destination, source, messages: given }] },
      ]);
      const removed = await this.store.removeWhere(jobId, (message) => message.replay === id);
      // Another replay may have added the same job, and only one of them removes a message.
      const count = removed.flatMap((one) => one.messages).length;
      this.queue.countReplayed(destination, count);
      replayed += count;
    }
    return replayed;
  }

  private async isDeliverable(destination: string): Promise<boolean> {
    try {
      const found = await this.destinations.find(destination);
      // A worker would keep the messages again, without what their URLs have answered.
      return found !== undefined && found.isDisabled !== true;
    } catch (error) {
      if (error instanceof InvalidDestinationError || error instanceof DestinationKeyError) return false;
      throw error;
    }
  }
}

/** `undefined` for all of them. */
function destinationsOf({ destination }: FailedFilter): ReadonlySet<string> | undefined {
  return destination === undefined ? undefined : new Set([destination]);
}

/** Two messages may have the same id, so their bodies count. */
function replayId(jobId: string, { destination, source, messages }: QueuedBatch): string {
  const hash = createHash('sha256').update(JSON.stringify([jobId, destination, source]));
  for (const { id, body } of messages) hash.update(`${JSON.stringify(id)}${body}`);
  return replayJobId(destination, hash.digest('hex').slice(0, 32));
}

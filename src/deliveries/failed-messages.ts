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
import { type KeptSelection, Replay, type SkippedDestinations } from './replay.js';

/** A replay includes the messages of another application only if its filter names this error. */
const OTHER_APPLICATION = 'OTHER_APPLICATION' satisfies OtherApplicationError['code'];

/** Selects the messages that were kept because their destination was disabled. */
const KEPT: FailedFilter = { error: 'DESTINATION_DISABLED' };

/** States of jobs that have not ended. A message of such a job may have failed for good before the rest. */
const UNENDED = ['delayed', 'waiting', 'active'] as const satisfies BatchState[];

/** How many messages `failed()` returns by default. */
const DEFAULT_COUNT = 100;

/** Greatest assumed difference between the clocks of two workers, in milliseconds. */
const CLOCK_DIFFERENCE = 60_000;

/** Selects messages that failed for good, to be read. */
export interface FailedCountQuery extends FailedFilter {
  /** Ends the reading, which then rejects with the signal's reason. Reading may take minutes if much is queued. */
  signal?: AbortSignal;
}

/** Selects messages that failed for good: those that match, from one position to another. */
export interface FailedQuery extends FailedCountQuery {
  /** Position of the first message, from 0. @default 0 */
  start?: number;
  /** Position of the last message. @default 99 after `start` */
  end?: number;
  /**
   * `false` leaves out messages whose batch is still retried for other messages. To find these, all jobs that wait for
   * the destination, or for several, have to be read, and there may be a million.
   *
   * @default true
   */
  waiting?: boolean;
  /**
   * `false` leaves the bodies empty, so that a thousand messages take little memory.
   *
   * @default true
   */
  bodies?: boolean;
}

/** The messages that failed for good and are kept. */
export class FailedMessages {
  constructor(
    private readonly store: BatchStore,
    private readonly queue: BatchQueue,
    private readonly destinations: DestinationRegistry,
    private readonly deleted: Pick<DeletedUsers, 'without'>,
  ) {}

  /** Returns the matching messages, latest first. Those whose batch is still retried for other messages come last. */
  async list({
    start = 0,
    end = start + DEFAULT_COUNT - 1,
    waiting = true,
    bodies = true,
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
      // The failed jobs come newest first, so nothing after this one matches either.
      if (!waiting && failedBefore(job, filter)) return found;
      for (const failed of failedMessages(job, state)) {
        if (position > end) return found;
        if (!matches(failed) || position++ < start) continue;
        found.push({ ...withType(failed), ...(!bodies && { body: '' }) });
      }
    }
    return found;
  }

  /**
   * Delivers the matching messages again, and returns how many. Leaves messages alone if their destination does not
   * exist, is disabled, has wrong fields or has secrets that cannot be decrypted, if their batch is still retried or
   * belongs to another application, or if their job cannot be read. Messages of deleted users are left to the deletion.
   *
   * @throws DestinationNotFoundError, InvalidDestinationError, DestinationKeyError when the filter names such a
   *   destination; ReplayIncompleteError at the end, if some destinations could not be looked up
   */
  async replay(filter: FailedFilter): Promise<number> {
    if (filter.destination !== undefined && !(await this.destinations.find(filter.destination)))
      throw new DestinationNotFoundError(filter.destination);
    // From this process, another application's messages would go to other URLs.
    const isAny = filter.error === OTHER_APPLICATION;
    const replay = this.replayOf(filter, (batch) => isAny || this.queue.isOwn(batch));
    const replayed = await this.run(replay, destinationsOf(filter));
    if (replay.skipped.size > 0) throw new ReplayIncompleteError(replayed, replay.skipped);
    return replayed;
  }

  /**
   * Returns the destinations for which messages are kept because they were disabled.
   *
   * @param among the only destinations that matter. Others may be returned as well. @default all
   */
  async keptFor(among?: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    const matches = matcherOf(KEPT);
    const found = new Set<string>();
    for await (const [job] of this.store.jobs({ states: ['failed'], destinations: among })) {
      for (const one of failedMessages(job, 'failed')) if (matches(one)) found.add(one.destination);
    }
    return found;
  }

  /** Delivers messages again that were kept because their destination was disabled. */
  async replayKept(selection: KeptSelection): Promise<SkippedDestinations> {
    const replay = this.replayOf(
      KEPT,
      ({ destination }) => selection.mayTake(destination),
      ({ destination, messages }) => selection.takes(destination, messages.length),
    );
    await this.run(replay, selection.ids, selection.signal);
    return replay.skipped;
  }

  /** Whether a replay delivers messages to a destination now. Rejects if the destination cannot be looked up. */
  async isDeliverable(destination: string): Promise<boolean> {
    try {
      const found = await this.destinations.find(destination);
      // A worker would keep messages of a disabled destination again, but without the answers of their URLs.
      return found !== undefined && found.isDisabled !== true;
    } catch (error) {
      if (error instanceof InvalidDestinationError || error instanceof DestinationKeyError) return false;
      throw error;
    }
  }

  /** Returns how many of the matching messages are not tried any more, including those that `replay` leaves alone. */
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

  /** Asks of each batch with matching messages `isMeant` before all other checks, and `isTaken` after them. */
  private replayOf(
    filter: FailedFilter,
    isMeant: (batch: QueuedBatch) => boolean,
    isTaken: (batch: QueuedBatch) => boolean = () => true,
  ): Replay {
    return new Replay(
      matcherOf(filter),
      async (batch) => isMeant(batch) && (await this.isDeliverable(batch.destination)) && isTaken(batch),
    );
  }

  private async run(
    replay: Replay,
    destinations: ReadonlySet<string> | undefined,
    signal?: AbortSignal,
  ): Promise<number> {
    let replayed = 0;
    for await (const [job] of this.store.jobs({ states: ['failed'], destinations, signal })) {
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

  /** Replays messages of a job. Other replays may have taken some since the job was listed, or may take some now. */
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
      // The messages are added before they are removed, so a crash in between loses nothing.
      await this.queue.addUncounted([
        { jobId: id, failedRetention, batches: [{ destination, source, messages: given }] },
      ]);
      const removed = await this.store.removeWhere(jobId, (message) => message.replay === id);
      // Another replay may have added the same job. Only one of the replays removes a message, and counts it.
      const count = removed.flatMap((one) => one.messages).length;
      this.queue.countReplayed(destination, count);
      replayed += count;
    }
    return replayed;
  }
}

/** Whether a job failed before any message that a filter selects. A message never fails after its job. */
function failedBefore({ failedAt = Infinity }: StoredJob, { from = -Infinity }: FailedFilter): boolean {
  return failedAt < Number(from) - CLOCK_DIFFERENCE;
}

/** Returns the destinations that a filter selects, or `undefined` for all. */
function destinationsOf({ destination }: FailedFilter): ReadonlySet<string> | undefined {
  return destination === undefined ? undefined : new Set([destination]);
}

/** Returns the id of a replay's job. The bodies count, since two messages may have the same id. */
function replayId(jobId: string, { destination, source, messages }: QueuedBatch): string {
  const hash = createHash('sha256').update(JSON.stringify([jobId, destination, source]));
  for (const { id, body } of messages) hash.update(`${JSON.stringify(id)}${body}`);
  return replayJobId(destination, hash.digest('hex').slice(0, 32));
}

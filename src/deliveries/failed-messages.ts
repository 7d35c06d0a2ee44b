import { createHash } from 'node:crypto';
import type { DestinationRegistry } from '../destinations/destination-registry.js';
import { DestinationNotFoundError } from '../errors/destination-not-found.error.js';
import type { BatchMessage } from '../queue/batch-job.js';
import type { BatchQueue } from '../queue/batch-queue.js';
import type { BatchStore } from '../queue/batch-store.js';
import { type FailedFilter, type FailedMessage, failedMessage, failedOf, matches } from './failed-filter.js';
import { isAbout } from './message-body.js';

/** How many messages `failed()` returns unless it is told. */
const DEFAULT_COUNT = 100;

/** Which messages that failed for good are wanted: those that match, from one position to another. */
export interface FailedQuery extends FailedFilter {
  /** Position of the first one, from 0. @default 0 */
  start?: number;
  /** Position of the last one. @default 99 after `start` */
  end?: number;
}

/** The messages that failed for good and are kept. */
export class FailedMessages {
  constructor(
    private readonly store: BatchStore,
    private readonly queue: BatchQueue,
    private readonly destinations: DestinationRegistry,
  ) {}

  /**
   * Those that match, the latest first; those whose batch is still being tried for its other messages
   * come last.
   */
  async list({
    start = 0,
    end = start + DEFAULT_COUNT - 1,
    ...filter
  }: FailedQuery): Promise<FailedMessage[]> {
    const found: FailedMessage[] = [];
    let position = 0;
    for await (const batch of this.store.batches(['failed', 'delayed', 'waiting', 'active'])) {
      for (const message of failedOf(batch)) {
        if (position > end) return found;
        const failed = failedMessage(batch, message);
        if (matches(filter, failed) && position++ >= start) found.push(failed);
      }
    }
    return found;
  }

  /**
   * Has those that match delivered anew, and returns how many. Jobs of destinations that are not there
   * stay as they are, and so do messages whose batch is still being tried.
   *
   * @throws DestinationNotFoundError when the filter names an unknown destination
   */
  async replay(filter: FailedFilter): Promise<number> {
    if (filter.destination !== undefined && !(await this.destinations.find(filter.destination)))
      throw new DestinationNotFoundError(filter.destination);
    let replayed = 0;
    for await (const batch of this.store.batches(['failed'])) {
      if ((await this.destinations.find(batch.data.destination)) === undefined) continue;
      const { jobId, failedRetention } = batch;
      const { destination, source } = batch.data;
      const messages = batch.data.messages.filter((message) =>
        matches(filter, failedMessage(batch, message)),
      );
      if (messages.length === 0) continue;
      // First added, then removed: a crash in between loses nothing, and the same replay under the same
      // id is taken once.
      await this.queue.add([
        { jobId: replayId(jobId, messages), failedRetention, batches: [{ destination, source, messages }] },
      ]);
      await this.store.remove(jobId, messages);
      replayed += messages.length;
    }
    return replayed;
  }

  /** Removes the kept messages of some users, and returns how many there were. */
  async erase(users: ReadonlySet<string>): Promise<number> {
    let erased = 0;
    for await (const { jobId, data } of this.store.batches(['failed'])) {
      const messages = data.messages.filter(({ body }) => isAbout(body, users));
      if (messages.length > 0) await this.store.remove(jobId, messages);
      erased += messages.length;
    }
    return erased;
  }
}

/** The same for the same messages of the same job, so that what a crash cut short is not replayed twice. */
function replayId(jobId: string, messages: readonly BatchMessage[]): string {
  const hash = createHash('sha256').update(JSON.stringify([jobId, ...messages.map(({ id }) => id)]));
  return `replay-${hash.digest('hex').slice(0, 32)}`;
}

import debugFactory from 'debug';
import type { BatchMessage, QueuedBatch } from '../queue/batch-job.js';
import { isReplay } from '../queue/job-id.js';
import type { QueueStorage } from '../queue/queue-backend.js';
import type { DeletionStore } from './deletion-store.js';
import { DeletionKeys } from './deletion-key.js';
import { usersOf } from './message-body.js';

const debug = debugFactory('analytics');

/** What a worker knows of a job. */
export interface QueuedJob {
  id?: string | undefined;
  /** When the job was added, in milliseconds since the epoch. */
  timestamp: number;
}

/** Finds queued messages about users who were deleted since. */
export class DeletedUsers {
  constructor(private readonly store: Pick<DeletionStore, 'find'>) {}

  /**
   * Returns the batch without messages about users who were deleted after it was queued, in any process. The result may
   * have no messages. Call this before a batch is sent. It is free for the first attempt of a batch, and costs one
   * query for a batch that was tried before or is replayed.
   */
  beforeAttempt(batch: QueuedBatch, job: QueuedJob): QueuedBatch | Promise<QueuedBatch> {
    if (batch.firstAttemptAt === undefined && !isReplay(job.id)) return batch;
    return this.leftOf(batch, job);
  }

  /** Does the same as `beforeAttempt`, but always costs a query. For a batch that is about to be written as well. */
  async leftOf(batch: QueuedBatch, job: QueuedJob): Promise<QueuedBatch> {
    return (await this.strip(batch, job)) ?? { ...batch, messages: [] };
  }

  /**
   * Returns the rest of a batch without messages about deleted users, or `undefined` if nothing is left. Call this
   * right before the rest is written, whether put back or kept as failed. It costs one query. If the queue's database
   * does not answer, the batch is returned unchanged, so that nothing is lost.
   */
  async strip(batch: QueuedBatch, { timestamp: addedAt }: QueuedJob): Promise<QueuedBatch | undefined> {
    const queuedAt = Math.min(addedAt, batch.firstAttemptAt ?? addedAt);
    try {
      const messages = await this.without(batch.messages, batch.source, queuedAt);
      if (messages.length === batch.messages.length) return batch;
      return messages.length === 0 ? undefined : { ...batch, messages };
    } catch (error) {
      debug('deleted users could not be looked up: %o', error);
      return batch;
    }
  }

  /** Does the same as `strip` for rests that continue in jobs of their own. Leaves out rests without messages. */
  async stripEach<Rest extends { batch: QueuedBatch }>(
    rests: readonly Rest[],
    job: QueuedJob,
  ): Promise<Rest[]> {
    const batches = await Promise.all(rests.map(({ batch }) => this.strip(batch, job)));
    return rests.flatMap((rest, index) => {
      const batch = batches[index];
      return batch === undefined ? [] : [{ ...rest, batch }];
    });
  }

  /**
   * Returns the messages without those that are older than the deletion of their user.
   *
   * @param source name of the messages' source
   * @param queuedAt when the messages were queued, in milliseconds since the epoch
   */
  async without(
    messages: readonly BatchMessage[],
    source: string,
    queuedAt: number,
  ): Promise<BatchMessage[]> {
    const keysOf = new DeletionKeys(source);
    const ages = messages.map((message) => ageOf(message, keysOf));
    const deletedAt = await this.store.find([...new Set(ages.flatMap(({ keys }) => keys))]);
    return messages.filter((_, index) => {
      const age = ages[index];
      return age === undefined || !isFromBefore(age, queuedAt, deletedAt);
    });
  }
}

/** Data that shows whether a message is older than a deletion. */
export interface MessageAge {
  /** Keys of the deletions that may apply to the message. */
  keys: readonly string[];
  /** The timestamp of the message, in milliseconds since the epoch; `NaN` if it has none. */
  timestamp: number;
}

/** Returns the age of a message. Messages that older versions queued name their tenant only in their context. */
export function ageOf({ body, tenant }: BatchMessage, keysOf: DeletionKeys): MessageAge {
  const { keys, group, timestamp } = usersOf(body);
  return { keys: keysOf.of(keys, tenant ?? group), timestamp };
}

/**
 * Returns whether a message is older than a deletion of its user: queued or timestamped before the deletion. The
 * timestamp matters for messages that waited in a buffer while the user was deleted. Later messages with the same user
 * id are left alone.
 */
export function isFromBefore(
  { keys, timestamp }: MessageAge,
  queuedAt: number,
  deletedAt: ReadonlyMap<string, number>,
): boolean {
  return keys.some((key) => {
    const at = deletedAt.get(key);
    return at !== undefined && (queuedAt <= at || timestamp <= at);
  });
}

/** Creates the store of deletions, in the database of the queue. Loads only the code for that database. */
export async function createDeletionStore(storage: QueueStorage): Promise<DeletionStore> {
  if (storage.kind === 'redis') {
    const { RedisDeletionStore } = await import('./redis-deletion-store.js');
    return new RedisDeletionStore(storage.client);
  }
  const { PostgresDeletionStore } = await import('./postgres-deletion-store.js');
  return new PostgresDeletionStore(storage.pool);
}

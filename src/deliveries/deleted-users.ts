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
  /** When it was added, in milliseconds since the epoch. */
  timestamp: number;
}

/** Knows which queued messages are about users who were deleted since. */
export class DeletedUsers {
  constructor(private readonly store: Pick<DeletionStore, 'find'>) {}

  /**
   * Ask this before a batch is sent. Returns the batch without messages about users who were deleted after it
   * was queued, in any process; nothing may be left. It is free for the first attempt of a batch, and costs
   * one query for a batch that was tried before or is replayed.
   */
  beforeAttempt(batch: QueuedBatch, job: QueuedJob): QueuedBatch | Promise<QueuedBatch> {
    if (batch.firstAttemptAt === undefined && !isReplay(job.id)) return batch;
    return this.leftOf(batch, job);
  }

  /** The same where the batch is about to be written as well: then it costs a query in any case. */
  async leftOf(batch: QueuedBatch, job: QueuedJob): Promise<QueuedBatch> {
    return (await this.strip(batch, job)) ?? { ...batch, messages: [] };
  }

  /**
   * Ask this right before the rest of a batch is written, whether put back or kept as failed. Returns the
   * rest without messages about deleted users, or `undefined` if nothing is left. It costs one query. If the
   * queue's database does not answer, the batch is returned unchanged, so that nothing is lost.
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

  /** The same for rests that go on in jobs of their own. Those of which nothing is left are left out. */
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
   * Leaves out the messages about users who were deleted after they were queued.
   *
   * @param source name of their source
   * @param queuedAt when they were queued, in milliseconds since the epoch
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

/** What tells whether a message is older than a deletion. */
export interface MessageAge {
  /** Keys of the deletions that it can be meant by. */
  keys: readonly string[];
  /** The timestamp of the message, in milliseconds since the epoch; `NaN` if it has none. */
  timestamp: number;
}

/** What older versions have queued says in its context alone whose it is. */
export function ageOf({ body, tenant }: BatchMessage, keysOf: DeletionKeys): MessageAge {
  const { keys, group, timestamp } = usersOf(body);
  return { keys: keysOf.of(keys, tenant ?? group), timestamp };
}

/**
 * Whether a message about a deleted user is older than the deletion: it was queued or timestamped before it.
 * The timestamp matters for messages that waited in a buffer while the user was deleted. Later messages with
 * the same user id are left alone.
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

/** The deletions that are kept beside the queue, in the same database. Only the code for that one is loaded. */
export async function createDeletionStore(storage: QueueStorage): Promise<DeletionStore> {
  if (storage.kind === 'redis') {
    const { RedisDeletionStore } = await import('./redis-deletion-store.js');
    return new RedisDeletionStore(storage.client);
  }
  const { PostgresDeletionStore } = await import('./postgres-deletion-store.js');
  return new PostgresDeletionStore(storage.pool);
}

import type { WritableDestinationStore } from '../../options/destination-store.js';
import type { ConnectionTurns } from '../../queue/postgres/connection-turns.js';
import type { QueueStorage } from '../../queue/queue-backend.js';
import type { DestinationFeed } from '../destination-feed.js';

/** The store and the feed in the queue's own database. */
export interface QueueDestinationStore extends WritableDestinationStore, DestinationFeed {
  /** Maximum number of look-ups at once, by tenant and by id together. @default eight of each */
  readonly mostLookups?: number;
  /** Turns of all other reads, and of changes. @default they need none */
  readonly turns?: ConnectionTurns;
}

/** Creates the store and the feed in the queue's own database. Only the code for that database is loaded. */
export async function createDestinationStore(storage: QueueStorage): Promise<QueueDestinationStore> {
  if (storage.kind === 'redis') {
    const { RedisDestinationStore } = await import('./redis-destination-store.js');
    return new RedisDestinationStore(storage.client);
  }
  const { PostgresDestinationStore } = await import('./postgres-destination-store.js');
  return new PostgresDestinationStore(storage.pool);
}

import type { WritableDestinationStore } from '../../options/destination-store.js';
import type { QueueStorage } from '../../queue/queue-backend.js';
import type { DestinationFeed } from '../destination-feed.js';

/** Creates the store and the feed in the queue's own database. Only the code for that database is loaded. */
export async function createDestinationStore(
  storage: QueueStorage,
): Promise<WritableDestinationStore & DestinationFeed> {
  if (storage.kind === 'redis') {
    const { RedisDestinationStore } = await import('./redis-destination-store.js');
    return new RedisDestinationStore(storage.client);
  }
  const { PostgresDestinationStore } = await import('./postgres-destination-store.js');
  return new PostgresDestinationStore(storage.pool);
}

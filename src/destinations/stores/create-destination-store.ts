import type { WritableDestinationStore } from '../../options/destination-store.js';
import type { QueueStorage } from '../../queue/queue-backend.js';
import type { DestinationFeed } from '../destination-feed.js';
import { PostgresDestinationStore } from './postgres-destination-store.js';
import { RedisDestinationStore } from './redis-destination-store.js';

/** The store and the feed in the queue's own database. */
export function createDestinationStore(storage: QueueStorage): WritableDestinationStore & DestinationFeed {
  return storage.kind === 'redis'
    ? new RedisDestinationStore(storage.client)
    : new PostgresDestinationStore(storage.pool);
}

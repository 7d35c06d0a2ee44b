import type { QueueStorage } from '../../queue/queue-backend.js';
import type { LiveFeed } from '../live-feed.js';

/**
 * Creates the feed, and loads only the code of the kind that is used.
 *
 * @param isOwn whether no other process uses the queue
 */
export async function createLiveFeed(storage: QueueStorage, isOwn: boolean): Promise<LiveFeed> {
  if (isOwn) {
    const { LocalLiveFeed } = await import('./local-live-feed.js');
    return new LocalLiveFeed();
  }
  if (storage.kind === 'redis') {
    const { RedisLiveFeed } = await import('./redis-live-feed.js');
    return new RedisLiveFeed(storage.client);
  }
  const { PostgresLiveFeed } = await import('./postgres-live-feed.js');
  return new PostgresLiveFeed(storage.pool);
}

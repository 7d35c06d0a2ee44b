import type { QueueBackend } from '../../queue/queue-backend.js';
import { LocalRateLimitStore, type RateLimitStore } from './rate-limit-store.js';

/**
 * Creates the store: in memory if `isOwn`, else in the queue's database. Loads only the code of the database it uses.
 *
 * @param isOwn whether no other process uses the queue
 */
export async function createRateLimitStore(
  { storage, health }: Pick<QueueBackend, 'storage' | 'health'>,
  isOwn: boolean,
): Promise<RateLimitStore> {
  if (isOwn) return new LocalRateLimitStore();
  if (storage.kind === 'redis') {
    const { RedisRateLimitStore } = await import('./redis-rate-limit-store.js');
    return new RedisRateLimitStore(storage.client, health);
  }
  const { PostgresRateLimitStore } = await import('./postgres-rate-limit-store.js');
  return new PostgresRateLimitStore(storage.pool);
}

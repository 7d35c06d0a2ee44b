import type { QueueStorage } from '../../queue/queue-backend.js';
import { LocalRateLimitStore } from './local-rate-limit-store.js';
import { PostgresRateLimitStore } from './postgres-rate-limit-store.js';
import type { RateLimitStore } from './rate-limit-store.js';
import { RedisRateLimitStore } from './redis-rate-limit-store.js';

/** @param isOwn whether no other process uses the queue */
export function createRateLimitStore(storage: QueueStorage, isOwn: boolean): RateLimitStore {
  if (isOwn) return new LocalRateLimitStore();
  return storage.kind === 'redis'
    ? new RedisRateLimitStore(storage.client)
    : new PostgresRateLimitStore(storage.pool);
}

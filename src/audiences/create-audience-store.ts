import type { QueueStorage } from '../queue/queue-backend.js';
import type { AudienceStore } from './audience-store.js';
import { PostgresAudienceStore } from './postgres-audience-store.js';
import { RedisAudienceStore } from './redis-audience-store.js';

/** The store beside the queue, in the same database. */
export function createAudienceStore(storage: QueueStorage): AudienceStore {
  return storage.kind === 'redis'
    ? new RedisAudienceStore(storage.client)
    : new PostgresAudienceStore(storage.pool);
}

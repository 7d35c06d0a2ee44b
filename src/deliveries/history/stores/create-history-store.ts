import type { QueueStorage } from '../../../queue/queue-backend.js';
import type { HistoryStore } from '../history-store.js';
import { PostgresHistoryStore } from './postgres-history-store.js';
import { RedisHistoryStore } from './redis-history-store.js';

/** The store in the queue's own database. */
export function createHistoryStore(storage: QueueStorage): HistoryStore {
  return storage.kind === 'redis'
    ? new RedisHistoryStore(storage.client)
    : new PostgresHistoryStore(storage.pool);
}

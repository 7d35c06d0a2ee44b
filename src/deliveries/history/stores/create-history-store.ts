import type { QueueStorage } from '../../../queue/queue-backend.js';
import type { HistoryStore } from '../history-store.js';

/** Creates the store in the queue's own database. Loads only the code for that database. */
export async function createHistoryStore(storage: QueueStorage): Promise<HistoryStore> {
  if (storage.kind === 'redis') {
    const { RedisHistoryStore } = await import('./redis-history-store.js');
    return new RedisHistoryStore(storage.client);
  }
  const { PostgresHistoryStore } = await import('./postgres-history-store.js');
  return new PostgresHistoryStore(storage.pool);
}

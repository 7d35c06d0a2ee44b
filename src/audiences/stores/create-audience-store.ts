import type { AudienceStore } from '../../options/audience-store.js';
import type { QueueStorage } from '../../queue/queue-backend.js';

/** Creates the store in the queue's own database. Loads only the code for that database. */
export async function createAudienceStore(storage: QueueStorage): Promise<AudienceStore> {
  if (storage.kind === 'redis') {
    const { RedisAudienceStore } = await import('./redis-audience-store.js');
    return new RedisAudienceStore(storage.client);
  }
  const { PostgresAudienceStore } = await import('./postgres-audience-store.js');
  return new PostgresAudienceStore(storage.pool);
}

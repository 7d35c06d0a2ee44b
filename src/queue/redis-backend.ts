import { type ConnectionOptions, createRedisBackend, withBackend } from 'bullmq';
import type { BatchJobData } from './batch-job.js';
import type { QueueBackend } from './queue-backend.js';
import type { QueueHealth, QueueHealthLog } from './queue-health.js';
import { openRedisClients } from './redis-clients.js';
import { adviseOnRedis } from './redis-safety.js';

/** Keys of one queue share a hash tag, so that they live in one slot of a Redis Cluster. */
const PREFIX = '{nestjs-analytics}';

/** The queue on Redis. */
export async function createRedisQueueBackend(
  redis: string | ConnectionOptions,
  health: QueueHealth,
  logger: QueueHealthLog,
): Promise<QueueBackend> {
  const clients = await openRedisClients(redis);
  const { client } = clients;
  client.on('error', (error) => {
    health.down(error);
  });
  client.on('ready', () => {
    health.up();
  });
  client.once('ready', () => void adviseOnRedis(client, logger));
  // An idle producer is not kept alive by its connection; one with work to do is, by the outbox.
  client.on('connect', () => {
    client.stream.unref();
  });
  const { Queue, Worker } = withBackend(createRedisBackend);
  return {
    health,
    storage: { kind: 'redis', client },
    createQueue: (name, options) =>
      new Queue<BatchJobData, void>(name, { ...options, connection: client, prefix: PREFIX }),
    createWorker: (name, processor, options) =>
      new Worker<BatchJobData, void>(name, processor, { ...options, connection: client, prefix: PREFIX }),
    close: () => {
      clients.close();
      return Promise.resolve();
    },
  };
}

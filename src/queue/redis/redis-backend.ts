import { type ConnectionOptions, createRedisBackend, withBackend } from 'bullmq';
import type { Redis } from 'ioredis';
import { within } from '../../shared/within.js';
import type { BatchJobData } from '../batch-job.js';
import type { QueueLog } from '../limited-log.js';
import { type AddMemory, START_PATIENCE, type QueueBackend } from '../queue-backend.js';
import type { QueueHealth } from '../queue-health.js';
import { openRedisClients } from './redis-clients.js';
import { firstAnswer } from './redis-server-check.js';

/** Keys of one queue share a hash tag, so that they are in one slot of a Redis Cluster. */
const PREFIX = '{nestjs-analytics}';

/**
 * After a job is gone, its id stays for ten minutes, in a hundred bytes. Keeping the jobs would fill the
 * memory.
 */
const MEMORY: AddMemory = { completed: { age: 600, count: 100 }, ids: 600_000 };

/** Written to check whether a server that refused to store takes jobs again. */
const PROBE_KEY = `${PREFIX}:writable`;
const PROBE_INTERVAL = 1_000;
const PROBE_LIFETIME = 1_000;

/**
 * The queue on Redis. A server that cannot be reached is waited for later.
 *
 * @throws UnsupportedQueueServerError if the server answers at once and can never carry the queue.
 */
export async function createRedisQueueBackend(
  redis: string | ConnectionOptions,
  health: QueueHealth,
  logger: QueueLog,
): Promise<QueueBackend> {
  const clients = await openRedisClients(redis, {
    onDown: (error) => {
      health.down(error);
    },
    onUp: () => {
      health.up();
    },
  });
  const { client } = clients;
  let wasReady = false;
  client.on('ready', () => {
    wasReady = true;
  });
  client.on('close', () => {
    health.down(new Error(wasReady ? CLOSED : CLOSED_AT_ONCE));
  });
  // The connection does not keep an idle producer alive. The sender does so while it has work.
  client.on('connect', () => {
    client.stream.unref();
  });
  const probe = probeWrites(client, health);
  const close = (): void => {
    clearInterval(probe);
    health.close();
    clients.close();
  };
  const answered = firstAnswer(client, logger);
  // After the start it is too late to reject the server, so it is only logged.
  answered.catch((error: unknown) => {
    health.down(error);
  });
  try {
    await within(START_PATIENCE, answered);
  } catch (error) {
    close();
    throw error;
  }
  const { Queue, Worker } = withBackend(createRedisBackend);
  class BatchWorker extends Worker<BatchJobData, void> {
    // BullMQ would wait for five seconds after a check for stalled jobs that failed, also when it is closed
    // meanwhile. The next check comes after `stalledInterval` anyway.
    protected override checkConnectionError<T>(check: () => Promise<T>): Promise<T | undefined> {
      return super.checkConnectionError(check, 0);
    }
  }
  return {
    health,
    storage: { kind: 'redis', client },
    memory: MEMORY,
    createQueue: (name, options) =>
      new Queue<BatchJobData, void>(name, { ...options, connection: client, prefix: PREFIX }),
    createWorker: (name, processor, options) =>
      new BatchWorker(name, processor, { ...options, connection: client, prefix: PREFIX }),
    close: () => {
      close();
      return Promise.resolve();
    },
  };
}

const CLOSED = 'it closed the connection';
const CLOSED_AT_ONCE = 'it closes the connection without an answer: is it a Redis that listens there?';

/** A server that is full, or a replica, still answers. Only a write shows when that is over. */
function probeWrites(client: Redis, health: QueueHealth): NodeJS.Timeout {
  let isAsking = false;
  return setInterval(() => {
    if (!health.isRefusing || isAsking || client.status !== 'ready') return;
    isAsking = true;
    client
      .set(PROBE_KEY, '', 'PX', PROBE_LIFETIME)
      .then(
        () => {
          health.stored();
        },
        () => undefined,
      )
      .finally(() => {
        isAsking = false;
      });
  }, PROBE_INTERVAL).unref();
}

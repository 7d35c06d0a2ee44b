import type { EventEmitter } from 'node:events';
import { createRedisBackend, withBackend } from 'bullmq';
import type { ResolvedRedis } from '../../options/resolved-options.js';
import { within } from '../../shared/within.js';
import { batchWorkerOf } from '../batch-worker.js';
import type { QueueLog } from '../limited-log.js';
import {
  type AddMemory,
  START_PATIENCE,
  type QueueBackend,
  type QueueNaming,
  type QueueStorage,
} from '../queue-backend.js';
import type { QueueHealth } from '../queue-health.js';
import { batchQueueOf } from '../queue-job.js';
import { probeWrites } from '../write-probe.js';
import { prefixOf } from './hash-tags.js';
import { isRightMissing, probeRights, rightsCheck } from './needed-rights.js';
import { openRedisClients, type RedisClients, type RedisObserver } from './redis-clients.js';
import { firstAnswer } from './redis-server-check.js';

/**
 * After a job is gone, Redis keeps its id for ten minutes, in a hundred bytes. Keeping the jobs would fill the memory.
 */
const MEMORY: AddMemory = { completed: { age: 600, count: 100 }, ids: 600_000 };

/** Returns the key that is written to check whether a server that refused to store takes jobs again. */
const probeKeyOf = (partition: number): string => `${prefixOf(partition)}:writable`;

/**
 * Creates the backend of a queue on Redis. If the server cannot be reached, the queue waits for it later.
 *
 * @throws UnsupportedQueueServerError if the server answers at once and can never carry the queue.
 */
export async function createRedisQueueBackend(
  connection: ResolvedRedis,
  nameOf: QueueNaming,
  health: QueueHealth,
  logger: QueueLog,
): Promise<QueueBackend> {
  const clients = await openClients(connection, {
    onDown: (error) => {
      health.down(error);
    },
    onUp: () => {
      health.up();
    },
  });
  const { client } = clients;
  const events: EventEmitter = client;
  let wasReady = false;
  events.on('ready', () => {
    wasReady = true;
  });
  events.on('close', () => {
    health.down(new Error(wasReady ? CLOSED : CLOSED_AT_ONCE));
  });
  const probed = new Set<string>();
  const endProbe = probeKeys(client, probed, health);
  const close = (): void => {
    endProbe();
    health.close();
    clients.close();
  };
  const answered = firstAnswer(clients, logger);
  // After the start it is too late to reject the server, so it is only logged.
  answered
    .then(() => probeRights(client, probeKeyOf(0)))
    .catch((error: unknown) => {
      if (isRightMissing(error)) health.down(error);
    });
  answered.catch((error: unknown) => {
    health.down(error);
  });
  try {
    await within(START_PATIENCE, answered);
  } catch (error) {
    close();
    throw error;
  }
  const storage: QueueStorage = { kind: 'redis', client };
  const classes = withBackend(createRedisBackend);
  const BatchJobQueue = batchQueueOf(classes);
  const BatchWorker = batchWorkerOf(classes);
  return {
    health,
    storage,
    jobStorage: storage,
    memory: MEMORY,
    createQueue: (partition, options) => {
      const probeKey = probeKeyOf(partition);
      probed.add(probeKey);
      return new BatchJobQueue(nameOf(partition), {
        ...options,
        connection: client,
        prefix: prefixOf(partition),
        beforeAdd: rightsCheck(client, probeKey),
      });
    },
    createWorker: (partition, processor, options) =>
      new BatchWorker(nameOf(partition), processor, {
        ...options,
        connection: client,
        prefix: prefixOf(partition),
      }),
    close: () => {
      close();
      return Promise.resolve();
    },
  };
}

async function openClients(connection: ResolvedRedis, observer: RedisObserver): Promise<RedisClients> {
  if (connection.kind === 'redis') return openRedisClients(connection.redis, observer);
  const { openClusterClients } = await import('./redis-cluster-clients.js');
  return openClusterClients(connection, observer);
}

const CLOSED = 'it closed the connection';
const CLOSED_AT_ONCE = 'it closes the connection without an answer: check that a Redis listens there';

/**
 * Probes with writes whether an outage is over, which only a write shows. A server that is full, or a replica, still
 * answers, and a cluster answers for the slots that it serves.
 */
function probeKeys(
  client: RedisClients['client'],
  keys: ReadonlySet<string>,
  health: QueueHealth,
): () => void {
  return probeWrites(
    health,
    () => client.status === 'ready' && (client.isCluster ? !health.isUp : health.isRefusing),
    () => Promise.all(Array.from(keys, (key) => probeRights(client, key))),
  );
}

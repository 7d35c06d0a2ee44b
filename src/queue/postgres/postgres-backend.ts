import {
  type BackendFactory,
  type PgPool,
  type PgPoolClient,
  PostgresConnection,
  type PostgresQueueBackend,
  withBackend,
} from 'bullmq';
import { within } from '../../shared/within.js';
import type { BatchJobData } from '../batch-job.js';
import { batchWorkerOf } from '../batch-worker.js';
import type { PGlitePool } from '../embedded/pglite-pool.js';
import {
  type AddMemory,
  START_PATIENCE,
  type QueueBackend,
  type QueueNaming,
  type QueueStorage,
} from '../queue-backend.js';
import type { QueueHealth } from '../queue-health.js';
import { probeWrites } from '../write-probe.js';
import { probeTables } from './add-and-take-back.js';
import { BatchJobBackend } from './batch-job-backend.js';
import { checkClock } from './clock-check.js';
import { checkEncoding } from './encoding-check.js';
import { prepareJobTables } from './job-tables.js';
import { findTables } from './own-tables.js';
import { createPostgresPools, type PostgresSettings } from './postgres-pool.js';
import { ReconnectingPool } from './reconnecting-pool.js';

/**
 * Completed jobs are kept by age, for which BullMQ finds the jobs to remove in an index. With a number, BullMQ would
 * look at all completed jobs whenever a job finishes.
 */
const MEMORY: AddMemory = { completed: { age: 300 } };

/** No answer of a database in this process can be lost on the way, so few completed jobs are kept. */
const EMBEDDED_MEMORY: AddMemory = { completed: { age: 300, count: 100 } };

/** Minimum connections of a worker. It listens on one for as long as it runs, and needs others for its statements. */
const WORKER_CONNECTIONS = 3;

/** A connection that is ready when its pool is. BullMQ's own connection remembers a first failure forever. */
class PooledConnection extends PostgresConnection {
  constructor(private readonly reconnecting: ReconnectingPool) {
    super(reconnecting);
  }

  override waitUntilReady(): Promise<void> {
    return this.reconnecting.ready;
  }
}

/**
 * The pools of the queue and its worker. Jobs that the queue adds are durable when the add is answered. A worker's
 * commits do not wait for the disk: they take, put back or end jobs, and if a crash of the database undoes the last of
 * them, these jobs are delivered again. A crash undoes the latest commits, so no remaining commit relies on one that was
 * undone.
 */
interface QueuePools {
  queue: ReconnectingPool;
  /** Opened when there is a worker. */
  worker: () => ReconnectingPool;
  end: QueueBackend['close'];
}

function backendOn(
  { queue, worker, end }: QueuePools,
  nameOf: QueueNaming,
  health: QueueHealth,
  memory: AddMemory,
): QueueBackend {
  const createBackend: BackendFactory<PostgresQueueBackend, PgPool> = (name, options, role) => {
    const isWorker = role?.withBlockingConnection === true;
    // Dashboards find workers by the name of their connection.
    const listenerName = isWorker ? name : undefined;
    const connection = new PooledConnection(isWorker ? worker() : queue);
    return new BatchJobBackend(connection, name, options, true, listenerName);
  };
  const storage: QueueStorage = { kind: 'postgres', pool: queue };
  const classes = withBackend(createBackend);
  const BatchWorker = batchWorkerOf(classes);
  health.tables.findBy((tables) => findTables(queue, tables));
  const endProbe = probeWrites(
    health,
    // A process that has nothing to store would not learn that the server is back.
    () => !health.isUp,
    () => probeTables(queue),
  );
  return {
    health,
    storage,
    jobStorage: storage,
    memory,
    createQueue: (partition, options) =>
      new classes.Queue<BatchJobData, void>(nameOf(partition), { ...options, connection: queue }),
    createWorker: (partition, processor, options) =>
      new BatchWorker(nameOf(partition), processor, { ...options, connection: worker() }),
    close: (patience) => {
      endProbe();
      return end(patience);
    },
  };
}

/** Creates the backend of a queue on the embedded database, which is open already. */
export function createPoolQueueBackend(
  database: PGlitePool,
  nameOf: QueueNaming,
  health: QueueHealth,
): QueueBackend {
  // Opening the database has shown that it can be reached.
  health.up();
  const queue = new ReconnectingPool(database, health, prepareJobTables);
  let forWorker: ReconnectingPool | undefined;
  const worker = (): ReconnectingPool =>
    (forWorker ??= new ReconnectingPool(database.asynchronous, health, () => queue.ready));
  const end = (patience?: number): Promise<void> => queue.end(() => database.end(patience));
  return backendOn({ queue, worker, end }, nameOf, health, EMBEDDED_MEMORY);
}

/**
 * Creates the backend of a queue on a PostgreSQL server. If the server cannot be reached, the queue waits for it later.
 *
 * @throws UnsupportedQueueServerError if the server answers at once and can never carry the queue.
 */
export async function createPostgresQueueBackend(
  postgres: PostgresSettings,
  nameOf: QueueNaming,
  health: QueueHealth,
): Promise<QueueBackend> {
  const pools = await createPostgresPools(postgres, health);
  const forQueue = pools.open({ keeps: 1 });
  const queue = new ReconnectingPool(forQueue.pool, health, async (client) => {
    await forQueue.checkSession(client);
    await checkEncoding(client);
    await prepareJobTables(client);
  });
  const forListener = pools.open({ keeps: Infinity });
  // The pool emits this for idle clients only. BullMQ itself notices when its listening client is lost.
  forListener.pool.on('error', () => undefined);
  const openWorkerPool = (): ReconnectingPool => {
    const forWorker = pools.open({
      session: { synchronous_commit: 'off' },
      sizeFor: (max) => Math.max(max, WORKER_CONNECTIONS) - 1,
      keeps: 0,
      // A worker that cannot listen is of no use, so its statements take no connection from the queue.
      substitute: () => (forListener.pool.size > 0 ? forQueue.pool : undefined),
    });
    const prepare = async (client: PgPoolClient): Promise<void> => {
      await forWorker.checkSession(client);
      await checkClock(client, health);
    };
    return new ReconnectingPool(forWorker.pool, health, prepare, {
      after: queue.ready,
      // BullMQ takes a client from a worker's pool only to listen.
      handOut: () => forListener.pool.connect(),
    });
  };
  let workerPool: ReconnectingPool | undefined;
  const worker = (): ReconnectingPool => (workerPool ??= openWorkerPool());
  const end = (): Promise<void> =>
    pools.close(() => Promise.all([queue.end(), workerPool?.end(), forListener.pool.end()]));
  try {
    await within(START_PATIENCE, queue.firstAnswer);
  } catch (error) {
    await end();
    throw error;
  }
  return backendOn({ queue, worker, end }, nameOf, health, MEMORY);
}

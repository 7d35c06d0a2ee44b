import type { EventEmitter } from 'node:events';
import type { Redis } from 'ioredis';
import { UnsupportedQueueServerError } from '../../errors/setup.errors.js';
import type { QueueLog } from '../limited-log.js';
import { isNoSuchDatabase, type RedisClients } from './redis-clients.js';

const SAFE_POLICY = 'noeviction';

/**
 * Resolves when the server has answered for the first time, even with a temporary error.
 *
 * @throws UnsupportedQueueServerError if the server can never carry the queue.
 */
export function firstAnswer(clients: RedisClients, logger: QueueLog): Promise<void> {
  const { client } = clients;
  const events: EventEmitter = client;
  return new Promise((resolve, reject) => {
    events.once('ready', () => {
      checkServers(clients.servers(), client.isCluster, logger).then(resolve, reject);
    });
    events.once('close', resolve);
    events.once('error', (error: Error) => {
      if (isNoSuchDatabase(error))
        reject(noSuchDatabase('db' in client.options ? client.options.db : undefined, error));
      else if (isNoCluster(error)) reject(noCluster(error));
      else resolve();
    });
  });
}

function noSuchDatabase(database: unknown, cause: Error): UnsupportedQueueServerError {
  return new UnsupportedQueueServerError(
    `its Redis has no database ${String(database)}`,
    'Use a number below `databases` in its configuration, which is 16 by default.',
    { cause },
  );
}

/** Returns whether cluster support is disabled on the nodes. */
function isNoCluster(error: Error): boolean {
  return 'lastNodeError' in error && String(error.lastNodeError).includes('cluster support disabled');
}

function noCluster(cause: Error): UnsupportedQueueServerError {
  return new UnsupportedQueueServerError(
    'its Redis is not a node of a Redis Cluster',
    'Write `connection: { host, port }`, or a `redis://` URL.',
    { cause },
  );
}

/**
 * Rejects if a server is a node of a cluster, but is configured as a single server. Warns once, at start, if a Redis
 * may lose jobs that it has acknowledged, by evicting them or by keeping nothing on disk. Logs nothing about settings
 * that the user may not read, as on a managed Redis.
 */
async function checkServers(servers: readonly Redis[], isCluster: boolean, logger: QueueLog): Promise<void> {
  const faults = new Set((await Promise.all(servers.map((server) => faultsOf(server, isCluster)))).flat());
  if (faults.size === 0) return;
  logger.warn(`The queue's Redis can lose queued messages: ${[...faults].join(', and ')}.`);
}

async function faultsOf(server: Redis, isCluster: boolean): Promise<string[]> {
  const [info, save] = await Promise.all([answerOf(server.info()), answerOf(server.config('GET', 'save'))]);
  if (!isCluster && fieldOf(info, 'cluster_enabled') === '1') {
    throw new UnsupportedQueueServerError(
      'its Redis is a node of a Redis Cluster',
      'Write `connection: { cluster: [{ host, port }] }`, with some of the nodes.',
    );
  }
  const policy = fieldOf(info, 'maxmemory_policy');
  const isKept = fieldOf(info, 'aof_enabled') !== '0' || !isNeverSaved(save);
  return [
    ...(policy === undefined || policy === SAFE_POLICY
      ? []
      : [`its \`maxmemory-policy\` is \`${policy}\` (set it to \`${SAFE_POLICY}\`)`]),
    ...(isKept ? [] : ['it keeps nothing on disk (set `appendonly yes`)']),
  ];
}

/** Resolves to the answer; `undefined` if the server refuses it or is away. Each question is asked only once. */
function answerOf(asked: Promise<unknown>): Promise<unknown> {
  return asked.catch(() => undefined);
}

function fieldOf(info: unknown, name: string): string | undefined {
  if (typeof info !== 'string') return undefined;
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
}

/**
 * Returns whether `save` is empty, which means never. It comes with its name, or in a map if the client reads RESP3.
 */
function isNeverSaved(save: unknown): boolean {
  if (Array.isArray(save)) return save[1] === '';
  return typeof save === 'object' && save !== null && 'save' in save && save.save === '';
}

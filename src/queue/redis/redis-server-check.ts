import type { Redis } from 'ioredis';
import { UnsupportedQueueServerError } from '../../errors/setup.errors.js';
import type { QueueLog } from '../limited-log.js';
import { isNoSuchDatabase } from './redis-clients.js';

const SAFE_POLICY = 'noeviction';

/**
 * Resolves when the server has answered for the first time, even with an error that may pass.
 *
 * @throws UnsupportedQueueServerError if the server can never carry the queue.
 */
export function firstAnswer(client: Redis, logger: QueueLog): Promise<void> {
  return new Promise((resolve, reject) => {
    client.once('ready', () => {
      checkServer(client, logger).then(resolve, reject);
    });
    client.once('close', resolve);
    client.once('error', (error) => {
      if (isNoSuchDatabase(error)) reject(noSuchDatabase(client, error));
      else resolve();
    });
  });
}

function noSuchDatabase(client: Redis, cause: Error): UnsupportedQueueServerError {
  return new UnsupportedQueueServerError(
    `its Redis has no database ${client.options.db}`,
    'Use a number below the `databases` of its configuration, which is 16 by default.',
    { cause },
  );
}

/**
 * Refuses a node of a cluster. Warns once, at start, if a Redis may lose jobs that it has acknowledged, by
 * evicting them or by keeping nothing on disk. Logs nothing about settings that it may not read, as on a
 * managed Redis.
 */
async function checkServer(client: Redis, logger: QueueLog): Promise<void> {
  const [info, save] = await Promise.all([answerOf(client.info()), answerOf(client.config('GET', 'save'))]);
  if (fieldOf(info, 'cluster_enabled') === '1') {
    throw new UnsupportedQueueServerError(
      'its Redis is a node of a Redis Cluster, which is not supported',
      'Use a Redis without cluster mode.',
    );
  }
  const policy = fieldOf(info, 'maxmemory_policy');
  const isKept = fieldOf(info, 'aof_enabled') !== '0' || !isNeverSaved(save);
  const faults = [
    ...(policy === undefined || policy === SAFE_POLICY
      ? []
      : [`its \`maxmemory-policy\` is \`${policy}\` (set it to \`${SAFE_POLICY}\`)`]),
    ...(isKept ? [] : ['it keeps nothing on disk (set `appendonly yes`)']),
  ];
  if (faults.length === 0) return;
  logger.warn(`The queue's Redis can lose messages that are in the queue: ${faults.join(', and ')}.`);
}

/** `undefined` if the server refuses to answer, or went away: it is asked only once. */
function answerOf(asked: Promise<unknown>): Promise<unknown> {
  return asked.catch(() => undefined);
}

function fieldOf(info: unknown, name: string): string | undefined {
  if (typeof info !== 'string') return undefined;
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
}

/** The setting `save`, as its name and value, or as a map if the client reads RESP3. Empty means never. */
function isNeverSaved(save: unknown): boolean {
  if (Array.isArray(save)) return save[1] === '';
  return typeof save === 'object' && save !== null && 'save' in save && save.save === '';
}

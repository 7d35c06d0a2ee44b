import type { Redis } from 'ioredis';
import type { QueueHealthLog } from './queue-health.js';

const SAFE_POLICY = 'noeviction';

/**
 * Tells at start, in one warning, when a Redis may lose jobs that it has acknowledged: by evicting them,
 * or by keeping nothing on disk. Says nothing of what it may not ask, as on a managed Redis.
 */
export async function adviseOnRedis(client: Redis, logger: QueueHealthLog): Promise<void> {
  const [info, save] = await Promise.all([answerOf(client.info()), answerOf(client.config('GET', 'save'))]);
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

/** `undefined` where the server refuses to tell, or went away: it is asked once, out of courtesy. */
function answerOf(asked: Promise<unknown>): Promise<unknown> {
  return asked.catch(() => undefined);
}

function fieldOf(info: unknown, name: string): string | undefined {
  if (typeof info !== 'string') return undefined;
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
}

/** The setting `save` as its name and its value, or as a map where the client reads RESP3; empty means never. */
function isNeverSaved(save: unknown): boolean {
  if (Array.isArray(save)) return save[1] === '';
  return typeof save === 'object' && save !== null && 'save' in save && save.save === '';
}

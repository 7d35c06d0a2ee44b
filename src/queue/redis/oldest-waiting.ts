import type { BatchJobQueue, RedisCommands } from '../queue-backend.js';
import { RedisScript } from './redis-script.js';

/** Jobs of each type that are searched for one that no worker has taken yet, those that have waited longest first. */
const HEAD = 100;

/** Keys: jobs. Returns the time when the first job that no worker has taken yet was added. */
const FIRST_ADDED = new RedisScript(`
  for _, key in ipairs(KEYS) do
    local job = redis.call('HMGET', key, 'timestamp', 'ats')
    if job[1] and (job[2] or '0') == '0' then return job[1] end
  end
  return false`);

/**
 * Resolves to when the job was added that has waited longest for its first attempt, in milliseconds since the epoch.
 */
export async function oldestWaitingOn(
  client: RedisCommands,
  queue: Pick<BatchJobQueue, 'getRanges' | 'toKey'>,
): Promise<number | undefined> {
  const heads = await Promise.all(
    (['waiting', 'prioritized'] as const).map(async (type) => {
      const ids = await queue.getRanges([type], 0, HEAD - 1, true);
      const added =
        ids.length > 0 &&
        (await FIRST_ADDED.run(
          client,
          ids.map((id) => queue.toKey(id)),
          [],
        ));
      return typeof added === 'string' ? Number(added) : Infinity;
    }),
  );
  const oldest = Math.min(...heads);
  return Number.isFinite(oldest) ? oldest : undefined;
}

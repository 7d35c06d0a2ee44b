import { randomUUID } from 'node:crypto';
import type { BatchJobQueue, QueueStorage } from './queue-backend.js';
import { RedisScript } from './redis/redis-script.js';

/** How long whoever claims a job may take to remove it, in milliseconds. It may crash before. */
const CLAIM = 10_000;

/**
 * Keys: job. Arguments: how long a claim lasts, and whose it is: a command whose answer was lost is sent again. Returns whether
 * the job is there and nobody else is removing it.
 */
const TAKE = new RedisScript(`
  if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local at, owner = string.match(redis.call('HGET', KEYS[1], 'removal') or '', '^(%d+) (.*)$')
  if at and owner ~= ARGV[2] and math.abs(now - tonumber(at)) < tonumber(ARGV[1]) then return 0 end
  redis.call('HSET', KEYS[1], 'removal', string.format('%.0f ', now) .. ARGV[2])
  return 1`);

/** Keys: job. Argument: whose claim it is. */
const LEAVE = new RedisScript(`
  local claim = redis.call('HGET', KEYS[1], 'removal')
  if not claim or string.match(claim, ' (.*)$') ~= ARGV[1] then return 0 end
  return redis.call('HDEL', KEYS[1], 'removal')`);

/**
 * Removes jobs of a partition. If several callers remove the same one at the same time, only one of them is told that it
 * did: on Redis, BullMQ says so to each.
 */
export class JobRemoval {
  constructor(
    private readonly queue: Pick<BatchJobQueue, 'toKey' | 'remove'>,
    private readonly storage: QueueStorage,
  ) {}

  /** Resolves to whether this call has removed the job. One that is being delivered stays. */
  async remove(jobId: string): Promise<boolean> {
    const { storage, queue } = this;
    // With children, of which there are none, BullMQ would say on PostgreSQL, too, that each has removed it.
    if (storage.kind === 'postgres') return (await queue.remove(jobId, { removeChildren: false })) > 0;
    const key = queue.toKey(jobId);
    const claim = randomUUID();
    const isMine = (await TAKE.run(storage.client, [key], [CLAIM, claim])) === 1;
    // Also where another caller has claimed it: that one may have crashed.
    const isRemoved = (await queue.remove(jobId)) > 0;
    if (isMine && !isRemoved) await LEAVE.run(storage.client, [key], [claim]);
    return isMine && isRemoved;
  }
}

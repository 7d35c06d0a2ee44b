import { randomUUID } from 'node:crypto';
import type { BatchJobQueue, QueueStorage } from './queue-backend.js';
import { RedisScript } from './redis/redis-script.js';

/** How long a claim on a job lasts, in milliseconds. Its owner may crash before it removes the job. */
const CLAIM = 10_000;

/**
 * Keys: job. Arguments: how long a claim lasts, and its owner, who may claim the job twice: a command whose answer
 * was lost is sent again. Returns whether the job is there and nobody else is removing it.
 */
const TAKE = new RedisScript(`
  if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local at, owner = string.match(redis.call('HGET', KEYS[1], 'removal') or '', '^(%d+) (.*)$')
  if at and owner ~= ARGV[2] and math.abs(now - tonumber(at)) < tonumber(ARGV[1]) then return 0 end
  redis.call('HSET', KEYS[1], 'removal', string.format('%.0f ', now) .. ARGV[2])
  return 1`);

/** Keys: job. Argument: owner of the claim. */
const LEAVE = new RedisScript(`
  local claim = redis.call('HGET', KEYS[1], 'removal')
  if not claim or string.match(claim, ' (.*)$') ~= ARGV[1] then return 0 end
  return redis.call('HDEL', KEYS[1], 'removal')`);

/**
 * Removes jobs of a partition. If several callers remove the same job at the same time, only one of them is told that
 * it removed the job. On Redis, BullMQ itself would tell this to each of them.
 */
export class JobRemoval {
  constructor(
    private readonly queue: Pick<BatchJobQueue, 'toKey' | 'remove'>,
    private readonly storage: QueueStorage,
  ) {}

  /** Removes a job, unless it is being delivered. Resolves to whether this call removed it. */
  async remove(jobId: string): Promise<boolean> {
    const { storage, queue } = this;
    // Jobs have no children. With `removeChildren`, BullMQ would tell each caller on PostgreSQL, too, that it removed
    // the job.
    if (storage.kind === 'postgres') return (await queue.remove(jobId, { removeChildren: false })) > 0;
    const key = queue.toKey(jobId);
    const claim = randomUUID();
    const isMine = (await TAKE.run(storage.client, [key], [CLAIM, claim])) === 1;
    // Even if another caller has claimed the job: that caller may have crashed.
    const isRemoved = (await queue.remove(jobId)) > 0;
    if (isMine && !isRemoved) await LEAVE.run(storage.client, [key], [claim]);
    return isMine && isRemoved;
  }
}

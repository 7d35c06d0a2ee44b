import { DEFAULT_SCHEMA, quoteSchemaName } from 'bullmq';
import type { BatchJobQueue, QueueStorage } from './queue-backend.js';
import { RedisScript } from './redis/redis-script.js';

/** Keys: completed jobs by their time. Arguments: least age, and number to read. */
const READ_OLD = new RedisScript(
  `local now = redis.call('TIME')
  local last = string.format('%.0f', now[1] * 1000 + math.floor(now[2] / 1000) - ARGV[1])
  return redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', last, 'LIMIT', 0, ARGV[2])`,
  false,
);

const TABLE = `${quoteSchemaName(DEFAULT_SCHEMA)}.job`;

/** $1 queue, $2 least age, $3 number to remove. Jobs that another process is removing are left to it. */
const REMOVE_OLD = `
  DELETE FROM ${TABLE} WHERE queue = $1 AND id = ANY (ARRAY(
    SELECT id FROM ${TABLE}
    WHERE queue = $1 AND state = 'completed'
      AND finished_at_ms <= (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint - $2::bigint)
    ORDER BY finished_at_ms LIMIT $3 FOR UPDATE SKIP LOCKED
  ))`;

/** The completed jobs of one partition. */
export class CompletedJobs {
  constructor(
    private readonly queue: Pick<BatchJobQueue, 'name' | 'toKey' | 'remove'>,
    private readonly storage: QueueStorage,
  ) {}

  /**
   * Removes the oldest completed jobs.
   *
   * @param age minimum time since their completion in milliseconds, by the clock of the server
   * @param most maximum number of jobs that are removed at once
   * @returns how many such jobs were found
   */
  async removeOld(age: number, most: number): Promise<number> {
    const { storage, queue } = this;
    if (storage.kind === 'postgres') {
      const { rowCount } = await storage.pool.query(REMOVE_OLD, [queue.name, age, most]);
      return rowCount ?? 0;
    }
    const ids = await READ_OLD.run(storage.client, [queue.toKey('completed')], [age, most]);
    if (!Array.isArray(ids)) return 0;
    await Promise.all(ids.map((id) => queue.remove(String(id))));
    return ids.length;
  }
}

import { createHash, randomUUID } from 'node:crypto';
import { DEFAULT_SCHEMA, quoteSchemaName } from 'bullmq';
import type { BatchJobQueue, QueueStorage } from './queue-backend.js';
import { RedisScript } from './redis/redis-script.js';

/** Maximum number of tries. A try fails if someone else has changed the job. Nobody changes one job this often. */
const MAX_TRIES = 100;

/** Keys: job. */
const READ = new RedisScript(`return redis.call('HGET', KEYS[1], 'data')`);

/**
 * Keys: job. Arguments: hash of the data that was read, new data, and the id of this change, by which a command that is
 * sent again finds that it was run before its answer was lost.
 */
const REPLACE = new RedisScript(`
  local data, change = unpack(redis.call('HMGET', KEYS[1], 'data', 'change'))
  if data and change == ARGV[3] then return 1 end
  if not data or redis.sha1hex(data) ~= ARGV[1] then return 0 end
  redis.call('HSET', KEYS[1], 'data', ARGV[2], 'change', ARGV[3])
  return 1`);

const JOB = `${quoteSchemaName(DEFAULT_SCHEMA)}.job`;
/** $1 queue, $2 job */
const SELECT = `SELECT data::text AS data FROM ${JOB} WHERE queue = $1 AND id = $2`;
/** $3 hash of the data that was read, $4 new data */
const UPDATE = `
  UPDATE ${JOB} SET data = $4::jsonb
  WHERE queue = $1 AND id = $2 AND encode(sha256(convert_to(data::text, 'UTF8')), 'hex') = $3
  RETURNING 1`;

/**
 * Changes the data of jobs that others change too. BullMQ only replaces data, so if two callers read, change
 * and write at the same time, one would undo the other's change.
 */
export class JobData {
  constructor(
    private readonly queue: Pick<BatchJobQueue, 'name' | 'toKey'>,
    private readonly storage: QueueStorage,
  ) {}

  /**
   * Changes the data of a job, atomically.
   *
   * @param change returns the new data, or `undefined` to leave it as it is; it is called again with newer
   *   data if another change came first
   * @returns whether the job was still there; if not, nothing was changed
   */
  async change(jobId: string, change: (data: unknown) => unknown): Promise<boolean> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const text = await this.read(jobId);
      if (text === undefined) return false;
      const changed = change(JSON.parse(text));
      if (changed === undefined || (await this.replace(jobId, text, JSON.stringify(changed)))) return true;
    }
    throw new Error(`The data of job ${jobId} kept changing while it was being written`);
  }

  private async read(jobId: string): Promise<string | undefined> {
    const { storage } = this;
    if (storage.kind === 'redis') {
      const text = await READ.run(storage.client, [this.queue.toKey(jobId)], []);
      return typeof text === 'string' ? text : undefined;
    }
    const { rows } = await storage.pool.query<{ data: string }>(SELECT, [this.queue.name, jobId]);
    return rows[0]?.data;
  }

  /** Replaces the data of a job, unless it has changed since it was read. Resolves to whether it was replaced. */
  private async replace(jobId: string, read: string, next: string): Promise<boolean> {
    const { storage } = this;
    if (storage.kind === 'redis') {
      const args = [createHash('sha1').update(read).digest('hex'), next, randomUUID()];
      return (await REPLACE.run(storage.client, [this.queue.toKey(jobId)], args)) === 1;
    }
    const hash = createHash('sha256').update(read).digest('hex');
    const { rows } = await storage.pool.query(UPDATE, [this.queue.name, jobId, hash, next]);
    return rows.length > 0;
  }
}

import { DEFAULT_SCHEMA, quoteSchemaName } from 'bullmq';
import { failedRetentionOf } from './batch-job.js';
import type { BatchJobQueue, QueueStorage } from './queue-backend.js';
import { RedisScript } from './redis/redis-script.js';

/** A job that failed for good, without its messages. */
export interface FailedJob {
  id: string;
  /** In milliseconds since the epoch. */
  failedAt: number;
  /** Of its batches. Empty if its data cannot be read. */
  destinations: readonly string[];
  /** Of its batches: whose they are. */
  marks: readonly string[];
  /** Milliseconds that it is kept, as it says itself. */
  retention: number;
}

/** Where a page begins. */
export interface PageStart {
  /** With the jobs that failed at this time, in milliseconds since the epoch, … */
  failedAt: number;
  /** … without as many of them. */
  skipped: number;
  /** It ends with those that failed at this time. */
  until: number;
  size: number;
}

/**
 * Keys: failed jobs by their time. Arguments: what the keys of jobs begin with, first and last time, number to skip, number
 * to read. No body can look like what is gathered, since a body is a text within the JSON.
 */
const READ = new RedisScript(
  `
  local function gathered(data, label, stop)
    local found, from = {}, 1
    while true do
      local _, last = string.find(data, label, from, true)
      local next = last and string.find(data, stop, last + 1, true)
      if not next then return found end
      table.insert(found, string.sub(data, last + 1, next - 1))
      from = next + 1
    end
  end
  local read = {}
  local jobs = redis.call('ZRANGEBYSCORE', KEYS[1], ARGV[2], ARGV[3], 'WITHSCORES', 'LIMIT', ARGV[4], ARGV[5])
  for index = 1, #jobs, 2 do
    local job = redis.call('HMGET', ARGV[1] .. jobs[index], 'opts', 'data')
    local data = job[2] or ''
    local destinations, marks = gathered(data, '"destination":"', '"'), gathered(data, '"marks":[', ']')
    table.insert(read, { jobs[index], jobs[index + 1], job[1] or '', destinations, marks })
  end
  return read`,
  false,
);

/** $1 queue, $2 first and $3 last time, $4 number to skip, $5 number to read */
const SELECT = `
  SELECT id, finished_at_ms::text AS time, opts::text AS opts,
    jsonb_path_query_array(data, '$.batches[*].destination')::text AS destinations,
    jsonb_path_query_array(data, '$.batches[*].marks[*]')::text AS marks
  FROM ${quoteSchemaName(DEFAULT_SCHEMA)}.job
  WHERE queue = $1 AND state = 'failed' AND finished_at_ms >= $2 AND finished_at_ms <= $3
  ORDER BY finished_at_ms, id OFFSET $4 LIMIT $5`;

interface Row {
  id: string;
  time: string;
  opts: string;
  destinations: string;
  marks: string;
}

/**
 * The failed jobs of one partition, the oldest first, read in the database: all of them may hold gigabytes, of which
 * only these few bytes are asked for.
 */
export class FailedJobs {
  constructor(
    private readonly queue: Pick<BatchJobQueue, 'name' | 'toKey'>,
    private readonly storage: QueueStorage,
  ) {}

  async page({ failedAt, skipped, until, size }: PageStart): Promise<FailedJob[]> {
    const { storage, queue } = this;
    if (storage.kind === 'redis') {
      const args = [queue.toKey(''), failedAt, until, skipped, size];
      const jobs = await READ.run(storage.client, [queue.toKey('failed')], args);
      return listOf(jobs).map(redisJob);
    }
    const params = [queue.name, failedAt, until, skipped, size];
    const { rows } = await storage.pool.query<Row>(SELECT, params);
    return rows.map(({ id, time, opts, destinations, marks }) => ({
      id,
      failedAt: Number(time),
      destinations: textsIn(parsed(destinations)),
      marks: textsIn(parsed(marks)),
      retention: retentionIn(opts),
    }));
  }
}

/** What was gathered are parts of JSON: the inside of each string, and of each list. */
function redisJob(job: unknown): FailedJob {
  const [id, time, opts, destinations, marks] = listOf(job);
  return {
    id: String(id),
    failedAt: Number(time),
    destinations: textsIn(textsIn(destinations).map((text) => parsed(`"${text}"`))),
    marks: textsIn(textsIn(marks).flatMap((list) => listOf(parsed(`[${list}]`)))),
    retention: retentionIn(String(opts)),
  };
}

/** Anyone with access to the queue may have written them. */
function retentionIn(opts: string): number {
  const options = parsed(opts);
  return failedRetentionOf(typeof options === 'object' && options !== null ? options : {});
}

function listOf(list: unknown): unknown[] {
  return Array.isArray(list) ? list : [];
}

function textsIn(list: unknown): string[] {
  return listOf(list).filter((text) => typeof text === 'string');
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

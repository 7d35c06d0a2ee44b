import { DEFAULT_SCHEMA, quoteSchemaName } from 'bullmq';
import { failedRetentionOf } from './batch-job.js';
import type { JobPlace } from './job-ids.js';
import type { BatchJobQueue, QueueStorage } from './queue-backend.js';
import { RedisScript } from './redis/redis-script.js';

/** Bytes of jobs after which a read ends: Redis does nothing else meanwhile, and a job may hold a megabyte. */
const MAX_BYTES = 524_288;

/** A job that failed for good, without its messages. */
export interface FailedJob {
  id: string;
  /** In milliseconds since the epoch. */
  failedAt: number;
  /** Destinations of its batches. Empty if its data cannot be read. */
  destinations: readonly string[];
  /** Marks of its batches: see `ApplicationMarks`. */
  marks: readonly string[];
  /** Milliseconds that the job is kept, by its own options. */
  retention: number;
}

/** A failed job that was looked up by its id. */
export interface SizedJob extends FailedJob {
  /** How many messages it has. */
  messages: number;
  place: JobPlace;
}

/** Where a page of failed jobs begins, and where it ends. */
export interface PageStart {
  /** Earliest time of failure on the page, in milliseconds since the epoch. */
  failedAt: number;
  /** Number of jobs from `failedAt` on that are skipped. */
  skipped: number;
  /** Minimum time since a job failed, in milliseconds, by the clock of the server. */
  age: number;
  size: number;
}

/**
 * Lua function that returns the parts of a job's JSON between a label and a stop. No body can look like a label, since
 * the quotation marks in it are escaped: a body is a string within the JSON.
 */
const GATHERED = `
  local function gathered(data, label, stop)
    local found, from = {}, 1
    while true do
      local _, last = string.find(data, label, from, true)
      local next = last and string.find(data, stop, last + 1, true)
      if not next then return found end
      table.insert(found, string.sub(data, last + 1, next - 1))
      from = next + 1
    end
  end`;

/**
 * Keys: failed jobs by their time. Arguments: prefix of the keys of jobs, first time, least age, number to skip,
 * number to read.
 */
const READ_PAGE = new RedisScript(
  `${GATHERED}
  local read = {}
  local now = redis.call('TIME')
  local last = string.format('%.0f', now[1] * 1000 + math.floor(now[2] / 1000) - ARGV[3])
  local jobs = redis.call('ZRANGEBYSCORE', KEYS[1], ARGV[2], last, 'WITHSCORES', 'LIMIT', ARGV[4], ARGV[5])
  for index = 1, #jobs, 2 do
    local job = redis.call('HMGET', ARGV[1] .. jobs[index], 'opts', 'data')
    local data = job[2] or ''
    local destinations, marks = gathered(data, '"destination":"', '"'), gathered(data, '"marks":[', ']')
    table.insert(read, { jobs[index], jobs[index + 1], job[1] or '', destinations, marks })
  end
  return read`,
  false,
);

/**
 * Keys: failed jobs by their time. Arguments: prefix of the keys of jobs, bytes after which no further job is read, and
 * ids.
 */
const READ_SIZED = new RedisScript(
  `${GATHERED}
  local read, bytes = {}, 0
  for index = 3, #ARGV do
    if bytes >= tonumber(ARGV[2]) then break end
    local id = ARGV[index]
    local time = redis.call('ZSCORE', KEYS[1], id)
    if time then
      local job = redis.call('HMGET', ARGV[1] .. id, 'opts', 'data')
      local data = job[2] or ''
      bytes = bytes + #data
      local destinations, marks = gathered(data, '"destination":"', '"'), gathered(data, '"marks":[', ']')
      local messages = #gathered(data, '"outcomes":', '[')
      table.insert(read, { id, time, job[1] or '', destinations, marks, messages })
    end
  end
  return read`,
  false,
);

const COLUMNS = `id, finished_at_ms::text AS time, opts::text AS opts,
    jsonb_path_query_array(data, '$.batches[*].destination')::text AS destinations,
    jsonb_path_query_array(data, '$.batches[*].marks[*]')::text AS marks`;
const TABLE = `${quoteSchemaName(DEFAULT_SCHEMA)}.job`;

/** Keys: failed jobs by their time. Argument: an id. */
const IS_FAILED = new RedisScript(`return redis.call('ZSCORE', KEYS[1], ARGV[1]) and 1 or 0`, false);

/** $1 queue, $2 id */
const SELECT_FAILED = `SELECT 1 FROM ${TABLE} WHERE queue = $1 AND state = 'failed' AND id = $2`;

/** $1 queue, $2 ids, whose order is kept, $3 bytes, as stored, after which no further job is read */
const SELECT_SIZED = `
  SELECT ${COLUMNS}, seq::text AS seq, jsonb_path_query_array(data, '$.batches[*].messages.size()')::text AS sizes
  FROM (
    SELECT *, sum(pg_column_size(data)) OVER (ORDER BY array_position($2::text[], id)) AS bytes
    FROM ${TABLE} WHERE queue = $1 AND state = 'failed' AND id = ANY ($2::text[])
  ) AS found
  WHERE bytes - pg_column_size(data) < $3
  ORDER BY array_position($2::text[], id)`;

/** $1 queue, $2 first time, $3 least age, $4 number to skip, $5 number to read */
const SELECT_PAGE = `
  SELECT ${COLUMNS} FROM ${TABLE}
  WHERE queue = $1 AND state = 'failed' AND finished_at_ms >= $2
    AND finished_at_ms <= (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint - $3::bigint)
  ORDER BY finished_at_ms, id OFFSET $4 LIMIT $5`;

interface Row {
  id: string;
  time: string;
  opts: string;
  destinations: string;
  marks: string;
}

interface SizedRow extends Row {
  seq: string;
  sizes: string;
}

/**
 * Reads the failed jobs of one partition, oldest first. The database extracts the few bytes that are needed, since the
 * jobs may hold gigabytes.
 */
export class FailedJobs {
  constructor(
    private readonly queue: Pick<BatchJobQueue, 'name' | 'toKey'>,
    private readonly storage: QueueStorage,
  ) {}

  async page({ failedAt, skipped, age, size }: PageStart): Promise<FailedJob[]> {
    const { storage, queue } = this;
    if (storage.kind === 'redis') {
      const args = [queue.toKey(''), failedAt, age, skipped, size];
      const jobs = await READ_PAGE.run(storage.client, [queue.toKey('failed')], args);
      return listOf(jobs).map(redisJob);
    }
    const params = [queue.name, failedAt, age, skipped, size];
    const { rows } = await storage.pool.query<Row>(SELECT_PAGE, params);
    return rows.map(postgresJob);
  }

  /**
   * Reads the first failed jobs with these ids, in the same order: half a megabyte of them, and at least one. Jobs that
   * are gone, or in another state, are left out.
   */
  async sized(ids: readonly string[]): Promise<SizedJob[]> {
    const { storage, queue } = this;
    if (storage.kind === 'redis') {
      const args = [queue.toKey(''), MAX_BYTES, ...ids];
      const jobs = await READ_SIZED.run(storage.client, [queue.toKey('failed')], args);
      return listOf(jobs).map(redisSizedJob);
    }
    const { rows } = await storage.pool.query<SizedRow>(SELECT_SIZED, [queue.name, ids, MAX_BYTES]);
    return rows.map((row) => ({
      ...postgresJob(row),
      messages: sumOf(parsed(row.sizes)),
      place: [row.time, row.seq],
    }));
  }

  /** Whether a job is still there and has failed. */
  async has(id: string): Promise<boolean> {
    const { storage, queue } = this;
    if (storage.kind === 'redis') {
      return (await IS_FAILED.run(storage.client, [queue.toKey('failed')], [id])) === 1;
    }
    return (await storage.pool.query(SELECT_FAILED, [queue.name, id])).rows.length > 0;
  }
}

function postgresJob({ id, time, opts, destinations, marks }: Row): FailedJob {
  return {
    id,
    failedAt: Number(time),
    destinations: textsIn(parsed(destinations)),
    marks: textsIn(parsed(marks)),
    retention: retentionIn(opts),
  };
}

function sumOf(sizes: unknown): number {
  return listOf(sizes).reduce<number>((sum, size) => sum + Number(size), 0);
}

/** Converts an answer of a script. The gathered parts are JSON: the inside of each string, and of each list. */
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

function redisSizedJob(job: unknown): SizedJob {
  const [id, time, , , , messages] = listOf(job);
  return { ...redisJob(job), messages: Number(messages), place: [String(time), String(id)] };
}

/** Returns the retention in a job's options, which anyone with access to the queue may have written. */
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

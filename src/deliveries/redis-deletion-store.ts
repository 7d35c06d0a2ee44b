import type { QueueStorage } from '../queue/queue-backend.js';
import { RedisScript } from '../queue/redis/redis-script.js';
import { type Deletion, DELETION_MEMORY, type DeletionStore } from './deletion-store.js';

/** `deleted`: a sorted set of the keys of deletions, by time. `pending`: a hash of the deletions to carry out. */
const KEYS = ['deleted', 'pending'].map((name) => `{nestjs-analytics:deletions}:${name}`);

/** Arguments: the time before which deletions are forgotten, then key, time and task of each deletion in turn. */
const ADD = new RedisScript(`
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])
  for i = 2, #ARGV, 3 do
    local at = ARGV[i + 1]
    local known = redis.call('ZSCORE', KEYS[1], ARGV[i])
    if known and tonumber(known) > tonumber(at) then at = known end
    redis.call('ZADD', KEYS[1], at, ARGV[i])
    local task, pending = ARGV[i + 2], redis.call('HGET', KEYS[2], ARGV[i])
    if pending then
      local kept = string.match(pending, ' (.*)') or ''
      local isKept = string.find('\\n' .. kept .. '\\n', '\\n' .. task .. '\\n', 1, true)
      task = isKept and kept or kept .. '\\n' .. task
    end
    redis.call('HSET', KEYS[2], ARGV[i], at .. ' ' .. task)
  end
  return 1`);

/** Arguments: keys of deletions. */
const FIND = new RedisScript(`
  if redis.call('EXISTS', KEYS[1]) == 0 then return {} end
  local found = {}
  for i = 1, #ARGV do
    local at = redis.call('ZSCORE', KEYS[1], ARGV[i])
    if at then
      found[#found + 1] = ARGV[i]
      found[#found + 1] = at
    end
  end
  return found`);

/**
 * Arguments: cursor, limit. A hash that was large has empty places, so a scan may find nothing although something is
 * left. The script scans on until it finds something, but ends after a while, since Redis does nothing else meanwhile.
 * Runs at every start, even in a process that ends before the queue is reachable.
 */
const PENDING = new RedisScript(
  `
  local cursor = ARGV[1]
  for _ = 1, 20 do
    local found = redis.call('HSCAN', KEYS[2], cursor, 'COUNT', ARGV[2])
    cursor = found[1]
    if cursor == '0' or #found[2] > 0 then return found end
  end
  return {cursor, {}}`,
  false,
);

/** Arguments: key, time and task of each deletion in turn. */
const DONE = new RedisScript(`
  for i = 1, #ARGV, 3 do
    if redis.call('HGET', KEYS[2], ARGV[i]) == ARGV[i + 1] .. ' ' .. ARGV[i + 2] then
      redis.call('HDEL', KEYS[2], ARGV[i])
    end
  end
  return 1`);

/** Stores deletions on the queue's Redis. */
export class RedisDeletionStore implements DeletionStore {
  constructor(private readonly client: Extract<QueueStorage, { kind: 'redis' }>['client']) {}

  async add(deletions: readonly Deletion[]): Promise<void> {
    const fields = deletions.flatMap(({ key, at, task }) => [key, at, task]);
    await ADD.run(this.client, KEYS, [Date.now() - DELETION_MEMORY, ...fields]);
  }

  async find(keys: readonly string[]): Promise<Map<string, number>> {
    return new Map(inPairs(await FIND.run(this.client, KEYS, keys)).map(([key, at]) => [key, Number(at)]));
  }

  async pending(limit: number): Promise<Deletion[]> {
    const first = await this.pages(limit).next();
    return first.done === true ? [] : first.value;
  }

  async *pages(limit: number): AsyncGenerator<Deletion[], void> {
    let cursor = '0';
    do {
      const answer = await PENDING.run(this.client, KEYS, [cursor, limit]);
      const [next, fields] = itemsOf(answer);
      const page = inPairs(fields).map(([key, value]) => deletionOf(key, value));
      if (page.length > 0) yield page;
      cursor = typeof next === 'string' ? next : '0';
    } while (cursor !== '0');
  }

  async done(deletions: readonly Deletion[]): Promise<void> {
    const fields = deletions.flatMap(({ key, at, task }) => [key, at, task]);
    await DONE.run(this.client, KEYS, fields);
  }
}

function deletionOf(key: string, value: string): Deletion {
  const end = value.indexOf(' ');
  return { key, at: Number(value.slice(0, end)), task: value.slice(end + 1) };
}

function inPairs(answer: unknown): [string, string][] {
  const items = itemsOf(answer);
  return items.flatMap((item, index): [string, string][] =>
    index % 2 === 0 ? [[String(item), String(items[index + 1])]] : [],
  );
}

function itemsOf(answer: unknown): readonly unknown[] {
  return Array.isArray(answer) ? answer : [];
}

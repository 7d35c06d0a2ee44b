import { chunksOf } from '../../shared/chunks.js';
import { type BacklogStore, CHANGED_AT_ONCE, type MessageTotals } from '../backlog-store.js';
import type { RedisCommands } from '../queue-backend.js';

/** Key of the totals, in the hash slot of the queue. */
const TOTALS = '{nestjs-analytics}:backlog';

const ADD = `
  local totals = {}
  for i = 1, #ARGV, 2 do
    local total = redis.call('HINCRBY', KEYS[1], ARGV[i], ARGV[i + 1])
    if total == 0 then redis.call('HDEL', KEYS[1], ARGV[i]) end
    totals[#totals + 1] = ARGV[i]
    totals[#totals + 1] = total
  end
  return totals`;

const ALL = `return redis.call('HGETALL', KEYS[1])`;

const WAITING = `
  local waiting = 0
  for _, total in ipairs(redis.call('HVALS', KEYS[1])) do waiting = waiting + math.max(tonumber(total), 0) end
  return waiting`;

const CLEAR = `
  for i = 1, #ARGV, 2 do
    if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[i + 1] then redis.call('HDEL', KEYS[1], ARGV[i]) end
  end`;

const CLAIM = `return redis.call('SET', KEYS[1], '1', 'NX', 'PX', ARGV[1]) and 1 or 0`;

/** Stores the totals on the queue's Redis, in one hash. */
export class RedisBacklogStore implements BacklogStore {
  constructor(private readonly client: RedisCommands) {}

  async add(changes: MessageTotals): Promise<Map<string, number>> {
    const totals: [string, number][] = [];
    for (const chunk of chunksOf([...changes], CHANGED_AT_ONCE)) {
      totals.push(...totalsOf(await this.client.eval(ADD, 1, TOTALS, ...chunk.flat())));
    }
    return new Map(totals);
  }

  async all(): Promise<Map<string, number>> {
    return totalsOf(await this.client.eval(ALL, 1, TOTALS));
  }

  async waiting(): Promise<number> {
    return Number(await this.client.eval(WAITING, 1, TOTALS));
  }

  async clear(totals: MessageTotals): Promise<void> {
    for (const chunk of chunksOf([...totals], CHANGED_AT_ONCE)) {
      await this.client.eval(CLEAR, 1, TOTALS, ...chunk.flat());
    }
  }

  /** Does nothing, since each total is removed as soon as it is 0. */
  tidy(): Promise<void> {
    return Promise.resolve();
  }

  async claim(task: string, interval: number): Promise<boolean> {
    return (await this.client.eval(CLAIM, 1, `${TOTALS}:${task}`, interval)) === 1;
  }
}

/** Reads alternating names and values. */
function totalsOf(answer: unknown): Map<string, number> {
  const totals = new Map<string, number>();
  const fields: unknown[] = Array.isArray(answer) ? answer : [];
  for (let at = 0; at < fields.length; at += 2) totals.set(String(fields[at]), Number(fields[at + 1]));
  return totals;
}

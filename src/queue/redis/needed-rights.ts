import type { Cluster, Redis } from 'ioredis';
import { missingRight } from '../missing-right.js';

/**
 * The commands that scripts run for the queue and what is stored beside it, each with arguments that it takes after a
 * key; `KEY` is that key again. The documentation lists them for the user of a Redis.
 */
const COMMANDS = `
  exists; get; incr; pexpire 1000; pttl; set 0 PX 1000;
  hdel f; hexists f; hget f; hgetall; hincrby f 1; hkeys; hmget f; hmset f v; hscan 0; hset f v; hvals;
  lindex 0; llen; lpush v; lrange 0 0; lrem 0 v; rpush v;
  sadd v; scard; smembers; srem v;
  xadd * f v; xtrim MAXLEN 1;
  zadd 0 v; zcard; zpopmin; zrange 0 0; zrangebylex - +; zrangebyscore 0 0; zrem v; zremrangebyrank 0 0;
  zremrangebyscore 0 0; zrevrange 0 0; zrevrangebyscore 0 0; zscan 0; zscore v; rpoplpush KEY;
  unlink; del`;

/**
 * Keys: a key of its own. Stores a text there, on which the commands that the user may run fail for its type, and change
 * nothing.
 */
const PROBE = `
  redis.call('SET', KEYS[1], '', 'PX', 1000)
  local refused = {}
  local function try(name, ...)
    local answer = redis.pcall(name, ...)
    local reason = type(answer) == 'table' and answer.err or ''
    if reason:find('NOPERM') or reason:find("can't run") or reason:find('no permissions') then
      table.insert(refused, "'" .. name .. "'")
    end
  end
  try('time')
  for command in ARGV[1]:gmatch('[^;]+') do
    local words = {}
    for word in command:gmatch('%S+') do table.insert(words, word == 'KEY' and KEYS[1] or word) end
    try(table.remove(words, 1), KEYS[1], unpack(words))
  end
  if #refused == 0 then return 1 end
  return redis.error_reply('NOPERM this user has no permissions to run the ' .. table.concat(refused, ', ') .. ' command')`;

/** Whether a server refused something because its user may not do that. */
export function isRightMissing(error: unknown): boolean {
  return missingRight(error) !== undefined;
}

/**
 * What to await before a job is added. Rejects while the user has not all rights, and asks no more once it has them. A
 * script that is refused in its midst has stored half a job, which would count as added when it is added again.
 */
export function rightsCheck(client: Redis | Cluster, key: string): () => Promise<void> {
  let given: Promise<void> | undefined;
  return () =>
    (given ??= probeRights(client, key).catch((error: unknown) => {
      given = undefined;
      // For another reason, the server refuses the whole of it.
      if (isRightMissing(error)) throw error;
    }));
}

/**
 * Stores something under a key, and resolves if the user may run all commands of the queue. A right that is missing shows
 * in some of them alone, while the server stores everything else.
 */
export async function probeRights(client: Redis | Cluster, key: string): Promise<void> {
  await client.eval(PROBE, 1, key, COMMANDS);
  try {
    // No script may wait for a job. The key is gone or holds no jobs.
    await client.call('bzpopmin', key, '0.01');
  } catch (error) {
    if (isRightMissing(error)) throw error;
  }
}

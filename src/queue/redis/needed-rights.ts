import type { Cluster, Redis } from 'ioredis';
import { missingRight } from '../missing-right.js';

/**
 * Commands that scripts run for the queue and for the data stored beside it, each with the arguments after its key.
 * `KEY` stands for that key again. The documentation lists these commands for the Redis user.
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
 * Keys: a key of its own. Stores a string there, so that commands for other types fail without a change even if the
 * user may run them.
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

/** Returns whether a server refused a command because its user lacks the right. */
export function isRightMissing(error: unknown): boolean {
  return missingRight(error) !== undefined;
}

/**
 * Returns a function to await before a job is added. It rejects while the user lacks a right, and does not ask again
 * once the user has all rights. A script that is refused halfway has stored half a job, which would count as added when
 * the job is added again.
 */
export function rightsCheck(client: Redis | Cluster, key: string): () => Promise<void> {
  let given: Promise<void> | undefined;
  return () =>
    (given ??= probeRights(client, key).catch((error: unknown) => {
      given = undefined;
      // For any other reason, the server refuses the whole add, and stores no half job.
      if (isRightMissing(error)) throw error;
    }));
}

/**
 * Writes to a key, and resolves if the user may run all commands of the queue. A missing right affects only some
 * commands, while the server runs all others.
 */
export async function probeRights(client: Redis | Cluster, key: string): Promise<void> {
  await client.eval(PROBE, 1, key, COMMANDS);
  try {
    // A script cannot wait for a job, so this runs on its own. The key is gone or holds no jobs.
    await client.call('bzpopmin', key, '0.01');
  } catch (error) {
    if (isRightMissing(error)) throw error;
  }
}

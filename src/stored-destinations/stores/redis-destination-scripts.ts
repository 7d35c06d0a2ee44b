import { randomUUID } from 'node:crypto';
import { OnceScript } from '../../queue/redis/once-script.js';
import { RedisScript } from '../../queue/redis/redis-script.js';
import { DELETED_MEMORY, KEPT_CHANGES, NO_CHANGE } from '../destination-feed.js';

/**
 * All keys share a hash tag, so that a script finds them on one node of a cluster. Each tenant has a sorted set
 * of ids. The key for destinations without a tenant ends in `tenant:`.
 */
const PREFIX = '{nestjs-analytics:destinations}:';

/** Records by id: the version, a blank, and the record as JSON. */
const RECORDS = `${PREFIX}records`;
/** The ids of all destinations, in lexicographic order. */
const IDS = `${PREFIX}ids`;
const REVISION = `${PREFIX}revision`;
/** Changes by their revision: the revision, a blank, and the change as a text of its own. */
const CHANGES = `${PREFIX}changes`;
/** Ids of deleted destinations by the time of their deletion. */
const DELETED = `${PREFIX}deleted`;
/** The ids of all disabled destinations, in lexicographic order. */
const DISABLED = `${PREFIX}disabled`;

/** Returns the keys of a script that reads or writes destinations of a tenant. */
export function keysOf(tenant: string): string[] {
  return [RECORDS, IDS, REVISION, CHANGES, DELETED, `${PREFIX}tenant:${tenant}`, DISABLED];
}

/** Returns the keys of a script that changes destinations of a tenant: those of `keysOf`, and one for its answer. */
export function changeKeysOf(tenant: string): string[] {
  return [...keysOf(tenant), `${PREFIX}answer:${randomUUID()}`];
}

/** Keys: as `keysOf`. `change` is a JSON text. */
const LOG = `
  local function log(change)
    local revision = redis.call('INCR', KEYS[3])
    redis.call('ZADD', KEYS[4], revision, revision .. ' ' .. change)
    redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', revision - ${KEPT_CHANGES})
  end`;

/** Keys: as `keysOf`. `is_disabled` is 1 or 0. */
const MARK = `
  local function mark(id, is_disabled)
    if is_disabled == '1' then redis.call('ZADD', KEYS[7], 0, id) else redis.call('ZREM', KEYS[7], id) end
  end`;

/** In batches, since Lua cannot pass many thousands of arguments at once. */
const READ = `
  local function read(ids)
    local found = {}
    for first = 1, #ids, 1000 do
      local records = redis.call('HMGET', KEYS[1], unpack(ids, first, math.min(first + 999, #ids)))
      for _, record in ipairs(records) do if record then found[#found + 1] = record end end
    end
    return found
  end`;

/** The latest change. */
const LATEST = `
  local latest = redis.call('ZRANGE', KEYS[4], -1, -1)[1] or '${NO_CHANGE}'`;

/** Returns the latest change and the records. */
export const FIND_BY_TENANT = new RedisScript(`${READ}${LATEST}
  return {latest, read(redis.call('ZRANGE', KEYS[6], 0, -1))}`);

/** Arguments: id. Returns the latest change, and the record, 1 for a deleted destination, or nothing. */
export const FIND_BY_ID = new RedisScript(`${LATEST}
  local record = redis.call('HGET', KEYS[1], ARGV[1])
  if record then return {latest, record} end
  return {latest, redis.call('ZSCORE', KEYS[5], ARGV[1]) and 1}`);

/** Arguments: `tenant`, `disabled` or `all`, the id to start after or an empty text, limit. */
export const LIST = new RedisScript(`${READ}
  local key = ({all = KEYS[2], tenant = KEYS[6], disabled = KEYS[7]})[ARGV[1]]
  local from = ARGV[2] == '' and '-' or '(' .. ARGV[2]
  return read(redis.call('ZRANGEBYLEX', key, from, '+', 'LIMIT', 0, ARGV[3]))`);

/** Arguments: id, record, change, limit, whether it is disabled. */
export const INSERT = new OnceScript(`${LOG}${MARK}
  if redis.call('ZCARD', KEYS[6]) >= tonumber(ARGV[4]) then return 0 end
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
  redis.call('ZADD', KEYS[2], 0, ARGV[1])
  redis.call('ZADD', KEYS[6], 0, ARGV[1])
  mark(ARGV[1], ARGV[5])
  log(ARGV[3])
  return 1`);

/** Arguments: id, record, change, expected version, whether it is disabled. */
export const REPLACE = new OnceScript(`${LOG}${MARK}
  local record = redis.call('HGET', KEYS[1], ARGV[1])
  if not record or string.match(record, '^%d+') ~= ARGV[4] then return 0 end
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
  mark(ARGV[1], ARGV[5])
  log(ARGV[3])
  return 1`);

/** Arguments: id, change, now. */
export const REMOVE = new OnceScript(`${LOG}
  if redis.call('HDEL', KEYS[1], ARGV[1]) == 0 then return 0 end
  redis.call('ZREM', KEYS[2], ARGV[1])
  redis.call('ZREM', KEYS[6], ARGV[1])
  redis.call('ZREM', KEYS[7], ARGV[1])
  redis.call('ZADD', KEYS[5], ARGV[3], ARGV[1])
  redis.call('ZREMRANGEBYSCORE', KEYS[5], '-inf', ARGV[3] - ${DELETED_MEMORY})
  log(ARGV[2])
  return 1`);

/** Arguments: change. */
export const PUBLISH = new RedisScript(`${LOG}
  log(ARGV[1])
  return 1`);

/**
 * Arguments: the known change or an empty text, changes that look-ups saw. Returns the latest change, whether the known
 * one, those seen and all since the known one are there, and all since the known one.
 */
export const CHANGES_SINCE = new RedisScript(
  `${LATEST}
  local function revision_of(change) return string.match(change, '^%d+') end
  local known = table.remove(ARGV, 1)
  local has_all = tonumber(revision_of(latest)) <= ${KEPT_CHANGES}
  if known ~= '${NO_CHANGE}' then has_all = redis.call('ZSCORE', KEYS[4], known) end
  for _, seen in ipairs(ARGV) do has_all = has_all and redis.call('ZSCORE', KEYS[4], seen) end
  if not has_all then return {latest, 0} end
  return {latest, 1, unpack(redis.call('ZRANGEBYSCORE', KEYS[4], '(' .. revision_of(known), '+inf'))}`,
  false,
);

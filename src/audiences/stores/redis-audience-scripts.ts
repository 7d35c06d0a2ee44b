import { OnceScript } from '../../queue/redis/once-script.js';
import { RedisScript } from '../../queue/redis/redis-script.js';

/**
 * Keys of an audience. `members`: a sorted set of the recorded users, scored by the generation in which they were
 * last seen or found unseen. `values`: a hash of their values, except `true`. `doubts`: a hash of the users in doubt.
 * Each is stored with that generation, a colon, and the new value, which is empty for a leaving user; in version
 * 0.1.0, with the new value alone. `generation`: the current generation. `answer`: the latest answer of a `OnceScript`,
 * of which the holder of the lock makes one call after the other.
 */
const KEYS = 'local members, values, doubts, generation, answer = unpack(KEYS, 2, 6)\n';

/**
 * Ends a script with nil if the lock is not held. The lock is the first key, and the token is the first argument.
 */
const FENCE = `if redis.call('GET', KEYS[1]) ~= ARGV[1] then return false end\n`;

const fenced = (source: string): RedisScript => new RedisScript(FENCE + KEYS + source);
const fencedOnce = (source: string): OnceScript => new OnceScript(KEYS + source, true, FENCE);

/** Keys: definitions. Arguments: trait, definition. */
export const REGISTER = new RedisScript(`
  local kept = redis.call('HGET', KEYS[1], ARGV[1])
  local latest = ARGV[2]
  if kept then
    local old, new = cjson.decode(kept), cjson.decode(latest)
    if old.name ~= new.name or old.kind ~= new.kind or old.source == new.source then return kept end
    local earlier = {}
    for _, source in ipairs(old.earlierSources or {}) do
      if source ~= new.source and source ~= old.source then earlier[#earlier + 1] = source end
    end
    earlier[#earlier + 1] = old.source
    -- An empty table would become an object.
    if #earlier > 0 then new.earlierSources = earlier end
    latest = cjson.encode(new)
  end
  redis.call('HSET', KEYS[1], ARGV[1], latest)
  return latest`);

/** Keys: definitions. Arguments: trait. */
export const FIND = new RedisScript(`return redis.call('HGET', KEYS[1], ARGV[1])`);

/** Keys: definitions. */
export const LIST = new RedisScript(`return redis.call('HVALS', KEYS[1])`);

/** Keys: definitions. Arguments: trait. */
export const UNREGISTER = new RedisScript(`return redis.call('HDEL', KEYS[1], ARGV[1])`);

/**
 * Keys: lock, mark that another process wants the lock. Arguments: token, duration. The mark expires after a
 * second. A caller whose first answer was lost has the lock already.
 */
export const LOCK = new RedisScript(`
  if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
  if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
  redis.call('SET', KEYS[2], 1, 'PX', 1000)
  return 0`);

/** Keys: lock. Arguments: token, duration. */
export const RENEW = new RedisScript(`
  if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])`);

/** Keys: lock, mark that another process wants the lock. Arguments: token. */
export const UNLOCK = new RedisScript(`
  if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
  redis.call('DEL', KEYS[1])
  return redis.call('DEL', KEYS[2])`);

export const ADVANCE = fenced(`return redis.call('INCR', generation)`);

/** Arguments: token, then user and value in turn. */
export const OFFER = fencedOnce(`
  local now = redis.call('GET', generation) or '0'
  local hasDoubts = redis.call('EXISTS', doubts) == 1
  local changed, unchanged = {}, 0
  for i = 2, #ARGV, 2 do
    local user, value = ARGV[i], ARGV[i + 1]
    local seen = redis.call('ZSCORE', members, user)
    if hasDoubts and redis.call('HEXISTS', doubts, user) == 1
      or not seen
      or seen ~= now and (redis.call('HGET', values, user) or 'true') ~= value
    then
      redis.call('HSET', doubts, user, now .. ':' .. value)
      if seen then redis.call('ZADD', members, now, user) end
      changed[#changed + 1] = user
    elseif seen ~= now then
      redis.call('ZADD', members, now, user)
      unchanged = unchanged + 1
    end
  end
  return { changed, unchanged }`);

/** Arguments: token, then users. */
export const WITHDRAW = fenced(`
  local found = {}
  for i = 2, #ARGV do
    local user = ARGV[i]
    local seen, doubt = redis.call('ZSCORE', members, user), redis.call('HGET', doubts, user)
    if seen or doubt then
      redis.call('HSET', doubts, user, (doubt and string.match(doubt, '^%d+:') or (seen or '0') .. ':'))
      found[#found + 1] = user
    end
  end
  return found`);

/** Start of a page that follows all users who were left in doubt. */
export const AFTER_DOUBTS = 'members';

/**
 * Arguments: token, limit, start of the page: a cursor of `HSCAN`, or `AFTER_DOUBTS`. First finds users who were left
 * in doubt and have not been offered since. A user is not found again in the same generation, settled or not.
 */
export const WITHDRAW_UNSEEN = fencedOnce(`
  local limit = tonumber(ARGV[2])
  local now = redis.call('GET', generation) or '0'
  local from, found = ARGV[3], {}
  local function withdraw(user)
    redis.call('HSET', doubts, user, now .. ':')
    redis.call('ZADD', members, 'XX', now, user)
    found[#found + 1] = user
  end
  if from ~= '${AFTER_DOUBTS}' then
    local page = redis.call('HSCAN', doubts, from, 'COUNT', limit)
    for i = 1, #page[2], 2 do
      if string.match(page[2][i + 1], '^%d+:') ~= now .. ':' then withdraw(page[2][i]) end
    end
    from = page[1] == '0' and '${AFTER_DOUBTS}' or page[1]
  end
  if from == '${AFTER_DOUBTS}' and #found < limit then
    local unseen = redis.call('ZRANGEBYSCORE', members, '-inf', '(' .. now, 'LIMIT', 0, limit - #found)
    for _, user in ipairs(unseen) do withdraw(user) end
    if #found < limit then from = '' end
  end
  return { found, from }`);

/** Arguments: token, then users. */
export const SETTLE = fenced(`
  local now = redis.call('GET', generation) or '0'
  for i = 2, #ARGV do
    local user = ARGV[i]
    local doubt = redis.call('HGET', doubts, user)
    local value = doubt and string.match(doubt, '^%d+:(.*)$')
    if value == '' then
      redis.call('ZREM', members, user)
      redis.call('HDEL', values, user)
    elseif value then
      redis.call('ZADD', members, now, user)
      if value == 'true' then redis.call('HDEL', values, user) else redis.call('HSET', values, user, value) end
    end
    redis.call('HDEL', doubts, user)
  end
  return 1`);

/** Keys: members. Arguments: cursor, limit. */
export const MEMBERS = new RedisScript(`return redis.call('ZSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[2])`);

export const DROP = fenced(`
  redis.call('UNLINK', members, values, doubts, generation, answer)
  return 1`);

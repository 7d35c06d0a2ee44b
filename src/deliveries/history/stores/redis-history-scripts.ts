import { OnceScript } from '../../../queue/redis/once-script.js';
import { RedisScript } from '../../../queue/redis/redis-script.js';
import { KEPT_ATTEMPTS, KEPT_ENTRIES, LEAST_REPLAY, MOST_AHEAD, ordinalOf } from '../history-store.js';
import { HOUR, KEPT_HOURS } from '../hour-counts.js';
import { KEPT_MINUTES, MINUTE } from '../minute-counts.js';
import { KEYS } from './redis-history-keys.js';

/** Lua: the server's time. */
const TIME = `
  local time = redis.call('TIME')`;

/**
 * Lua: the greatest credible ordinal. Entries with greater ordinals come from a clock that is, or was, minutes ahead.
 * The first argument is the time. The server's own clock may be behind those of all workers, so the later time counts.
 */
const LATEST = `
  local present = math.max(tonumber(ARGV[1]) * 1000, time[1] * 1000000 + time[2])
  local latest = string.format('%.0f', present + ${MOST_AHEAD})`;

/**
 * Lua: finds the oldest period that is kept, and removes earlier periods. The first argument is the time. A worker
 * whose clock is ahead must not remove what others keep.
 */
const REMOVE_OLD = `
  local function oldest_of(length, kept)
    return math.floor(math.min(tonumber(ARGV[1]), time[1] * 1000) / length) - kept + 1
  end

  local function remove_old(key, oldest)
    for _, number in ipairs(redis.call('HKEYS', key)) do
      if tonumber(number) < oldest then redis.call('HDEL', key, number) end
    end
  end`;

/**
 * Keys: those of each destination in turn, that of the minutes, and that of the answer. Arguments: the time in
 * milliseconds, the counts of minutes as a JSON text, and for each destination a JSON text and, if it has whole entries,
 * their name and text. Ordinals are texts, since numbers of that size would lose their last digits. Nobody waits for
 * this script.
 */
export const WRITE = new OnceScript(
  `${TIME}${LATEST}${REMOVE_OLD}
  local oldest_hour = oldest_of(${HOUR}, ${KEPT_HOURS})
  local oldest_ordinal = string.format('%.0f', oldest_hour * ${ordinalOf(HOUR)})

  -- No name of an event can say so: its quotes are escaped.
  local function is_in(head, state) return string.find(head, '"state":"' .. state .. '"', 1, true) end

  -- Whether a message is in the state of one head, though the other may seem to be later.
  local function outlasts(head, at, other, other_at)
    if not is_in(other, 'retrying') then return false end
    return is_in(head, 'delivered') or is_in(head, 'failed') and other_at <= at + ${LEAST_REPLAY}
  end

  local function text_of(entry, known, known_ordinal)
    local lines = {}
    local head, ordinal = entry.head, entry.ordinal
    if known then
      for line in string.gmatch(known, '[^\\n]+') do lines[#lines + 1] = line end
      local known_head = table.remove(lines, 1)
      local at, known_at = tonumber(ordinal), tonumber(known_ordinal or 0)
      local is_known_later = known_at > at and known_at <= tonumber(latest)
      -- It keeps its place with the head that it keeps.
      if outlasts(known_head, known_at, head, at) or is_known_later and not outlasts(head, at, known_head, known_at) then
        head, ordinal = known_head, known_ordinal or ordinal
      end
    end
    for _, attempt in ipairs(entry.attempts) do lines[#lines + 1] = attempt end
    while #lines > ${KEPT_ATTEMPTS} do table.remove(lines, 1) end
    table.insert(lines, 1, head)
    return table.concat(lines, '\\n'), ordinal
  end

  -- All at once: most of what an entry costs is the call of a command.
  local function add_entries(keys, entries)
    local ids, texts, order = {}, {}, {}
    for i, entry in ipairs(entries) do ids[i] = entry.messageId end
    local known = redis.call('HMGET', keys.entries, unpack(ids))
    for i, entry in ipairs(entries) do
      local id = ids[i]
      local known_ordinal = known[i] and redis.call('ZSCORE', keys.order, id)
      texts[2 * i - 1] = id
      texts[2 * i], order[2 * i - 1] = text_of(entry, known[i], known_ordinal)
      order[2 * i] = id
    end
    redis.call('HSET', keys.entries, unpack(texts))
    redis.call('ZADD', keys.order, unpack(order))
  end

  -- Ordinals have the same number of digits, so the names are in their order.
  local function is_before(name, other)
    if (name > latest) ~= (other > latest) then return name > latest end
    return name < other
  end

  local function remove_whole(key)
    local names, gone, kept = redis.call('HKEYS', key), {}, 0
    table.sort(names, is_before)
    for at = #names, 1, -1 do
      local ordinal, count = string.match(names[at], '^(%d+) (%d+)')
      if ordinal and (kept >= ${KEPT_ENTRIES} or tonumber(ordinal) < tonumber(oldest_ordinal)) then
        gone[#gone + 1] = names[at]
      elseif ordinal then
        kept = kept + count
      end
    end
    if #gone > 0 then redis.call('HDEL', key, unpack(gone)) end
    redis.call('HSET', key, 'count', kept)
  end

  local function add_whole(key, count, name, text)
    redis.call('HSET', key, name, text)
    local stored = redis.call('HINCRBY', key, 'count', count)
    if stored >= ${2 * KEPT_ENTRIES} then remove_whole(key) end
    redis.call('PEXPIRE', key, ${KEPT_HOURS * HOUR})
  end

  local function remove_entries(keys)
    local gone = redis.call('ZRANGEBYSCORE', keys.order, '-inf', '(' .. oldest_ordinal)
    local excess = redis.call('ZCARD', keys.order) - ${KEPT_ENTRIES}
    local function remove(ids)
      excess = excess - #ids
      for _, id in ipairs(ids) do gone[#gone + 1] = id end
    end
    if excess > 0 then remove(redis.call('ZRANGEBYSCORE', keys.order, '(' .. latest, '+inf', 'LIMIT', 0, excess)) end
    if excess > 0 then remove(redis.call('ZRANGE', keys.order, 0, excess - 1)) end
    if #gone == 0 then return end
    redis.call('HDEL', keys.entries, unpack(gone))
    redis.call('ZREM', keys.order, unpack(gone))
  end

  local function add_counts(key, number, counts, oldest)
    local known = redis.call('HGET', key, number)
    if known then
      for name, count in pairs(cjson.decode(known)) do counts[name] = (counts[name] or 0) + count end
    else
      remove_old(key, oldest)
    end
    redis.call('HSET', key, number, cjson.encode(counts))
    return not known
  end

  local at = 3
  for first = 1, #KEYS - 1, ${KEYS.length} do
    local keys = {entries = KEYS[first], order = KEYS[first + 1]}
    local whole, hours = KEYS[first + 2], KEYS[first + 3]
    local given = cjson.decode(ARGV[at])
    at = at + 1
    if #given.entries > 0 then
      add_entries(keys, given.entries)
      remove_entries(keys)
      for _, key in pairs(keys) do redis.call('PEXPIRE', key, ${KEPT_HOURS * HOUR}) end
    end
    if given.whole > 0 then
      add_whole(whole, given.whole, ARGV[at], ARGV[at + 1])
      at = at + 2
    end
    local is_new_hour = false
    for _, hour in ipairs(given.hours) do
      is_new_hour = add_counts(hours, hour[1], hour[2], oldest_hour) or is_new_hour
    end
    if is_new_hour and redis.call('EXISTS', whole) == 1 then remove_whole(whole) end
    redis.call('PEXPIRE', hours, ${KEPT_HOURS * HOUR})
  end
  local minutes = KEYS[#KEYS]
  for _, minute in ipairs(cjson.decode(ARGV[2])) do
    add_counts(minutes, minute[1], minute[2], oldest_of(${MINUTE}, ${KEPT_MINUTES}))
  end
  redis.call('PEXPIRE', minutes, ${KEPT_MINUTES * MINUTE})
  return 1`,
  false,
);

/**
 * Keys: those of a destination. Arguments: the time in milliseconds, and the oldest ordinal. Returns ids, ordinals and
 * texts in turn, the texts of whole entries, and the greatest credible ordinal.
 */
export const RECENT = new RedisScript(`${TIME}${LATEST}
  local found = {}
  local ids = redis.call('ZREVRANGEBYSCORE', KEYS[2], '+inf', ARGV[2], 'WITHSCORES')
  for i = 1, #ids, 2 do
    local text = redis.call('HGET', KEYS[1], ids[i])
    if text then
      found[#found + 1] = ids[i]
      found[#found + 1] = ids[i + 1]
      found[#found + 1] = text
    end
  end
  local fields, whole = redis.call('HGETALL', KEYS[3]), {}
  for i = 1, #fields, 2 do
    if fields[i] ~= 'count' then whole[#whole + 1] = fields[i + 1] end
  end
  return {found, whole, {latest}}`);

/**
 * Keys: those of minutes and of hours. Arguments: the time in milliseconds, how many messages wait, and for each key
 * the number of the period, its length in milliseconds, and how many periods are kept.
 */
export const NOTE_WAITING = new RedisScript(
  `${TIME}${REMOVE_OLD}

  for i, key in ipairs(KEYS) do
    local number, length, kept = unpack(ARGV, 3 * i, 3 * i + 2)
    local known = redis.call('HGET', key, number)
    if not known then remove_old(key, oldest_of(length, kept)) end
    if tonumber(known or -1) < tonumber(ARGV[2]) then redis.call('HSET', key, number, ARGV[2]) end
    redis.call('PEXPIRE', key, length * kept)
  end
  return 1`,
  false,
);

/** Key: that of periods. Returns the number and the stored text of each period in turn. */
export const PERIODS = new RedisScript(`return redis.call('HGETALL', KEYS[1])`);

/** Keys: those of a destination. */
export const FORGET = new RedisScript(`return redis.call('DEL', unpack(KEYS))`);

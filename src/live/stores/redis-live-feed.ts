import type { RedisCommands } from '../../queue/queue-backend.js';
import { RedisScript } from '../../queue/redis/redis-script.js';
import { LIVE_LIMITS, type LiveFeed, type NumberedEvent } from '../live-feed.js';

/** The keys share a hash tag, so that a script finds them on one node of a cluster. */
const PREFIX = '{nestjs-analytics:live}:';
/** Key of the scopes, by the time until which they are watched. */
const WATCHED = `${PREFIX}watched`;
/** How long the number of the latest event is remembered, in milliseconds: longer than anybody stays away. */
const NUMBER_LIFETIME = 86_400_000;

/**
 * Returns the keys for a scope: the watched scopes, the number of the scope's latest event, its events by number, and
 * its `times`: numbers, each with the time when all events up to it were there. The previous version has no `times`.
 */
function keysOf(scope: string): string[] {
  return [WATCHED, ...['latest', 'events', 'times'].map((name) => `${PREFIX}${name}:${scope}`)];
}

const NOW = `
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)`;

/** The number of the latest event that is too old to be shown. */
const OLD = `
  local oldest = now - ${LIVE_LIMITS.eventLifetime}
  local old = tonumber(redis.call('ZREVRANGEBYSCORE', KEYS[4], oldest, '-inf', 'LIMIT', 0, 1)[1] or '0')`;

/** Notes that all events up to `latest` are there now. Redis orders numbers of the same time as texts. */
const NOTE_TIME = `${OLD}
  redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', old)
  redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', oldest)
  redis.call('ZADD', KEYS[4], 'NX', now, string.format('%016d', latest))
  redis.call('ZREMRANGEBYRANK', KEYS[4], 0, -${LIVE_LIMITS.keptEvents + 1})
  redis.call('PEXPIRE', KEYS[4], ${LIVE_LIMITS.eventLifetime})`;

const SCOPES = new RedisScript(
  `${NOW}
  return redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. now, '+inf')`,
  false,
);

/** Arguments: scope. */
const WATCH = new RedisScript(`${NOW}
  local latest = tonumber(redis.call('GET', KEYS[2]) or '0')${NOTE_TIME}
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
  redis.call('ZADD', KEYS[1], now + ${LIVE_LIMITS.watchTime}, ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ${LIVE_LIMITS.watchTime})
  return latest`);

/** Arguments: scope, number of skipped events, and the events. */
const APPEND = new RedisScript(
  `${NOW}
  local watched = redis.call('ZSCORE', KEYS[1], ARGV[1])
  if not watched or tonumber(watched) <= now then return 0 end
  local latest = tonumber(redis.call('GET', KEYS[2]) or '0') + ARGV[2]
  for index = 3, #ARGV do
    latest = latest + 1
    redis.call('ZADD', KEYS[3], latest, string.format('%d ', latest) .. ARGV[index])
  end
  redis.call('SET', KEYS[2], string.format('%d', latest), 'PX', ${NUMBER_LIFETIME})
  redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', latest - ${LIVE_LIMITS.keptEvents})
  redis.call('PEXPIRE', KEYS[3], ${LIVE_LIMITS.eventLifetime})${NOTE_TIME}
  return 1`,
  false,
);

/** Arguments: number of the event to start after. */
const READ = new RedisScript(`${NOW}${OLD}
  local after = math.max(tonumber(ARGV[1]), old)
  return redis.call('ZRANGEBYSCORE', KEYS[3], '(' .. after, '+inf', 'LIMIT', 0, ${LIVE_LIMITS.readEvents})`);

/** The latest events on the queue's Redis. They expire if nobody watches. */
export class RedisLiveFeed implements LiveFeed {
  constructor(private readonly client: RedisCommands) {}

  async watched(): Promise<string[]> {
    return textsIn(await SCOPES.run(this.client, [WATCHED], []));
  }

  async watch(scope: string): Promise<number> {
    return Number(await WATCH.run(this.client, keysOf(scope), [scope]));
  }

  async append(scope: string, events: readonly string[], skipped: number): Promise<void> {
    await APPEND.run(this.client, keysOf(scope), [scope, skipped, ...events]);
  }

  async read(scope: string, after: number): Promise<NumberedEvent[]> {
    return textsIn(await READ.run(this.client, keysOf(scope), [after])).map((text) => {
      const blank = text.indexOf(' ');
      return { number: Number(text.slice(0, blank)), event: text.slice(blank + 1) };
    });
  }
}

function textsIn(answer: unknown): string[] {
  return Array.isArray(answer) ? answer.map(String) : [];
}

import type { RedisCommands } from '../../queue/queue-backend.js';
import { RedisScript } from '../../queue/redis/redis-script.js';
import { LIVE_LIMITS, type LiveFeed, type NumberedEvent } from '../live-feed.js';

/** The keys share a hash tag, so that a script finds them on one node of a cluster. */
const PREFIX = '{nestjs-analytics:live}:';
/** The scopes, by the time until which they are watched. */
const WATCHED = `${PREFIX}watched`;
/** How long the number of the latest event is remembered, in milliseconds: longer than anybody stays away. */
const NUMBER_LIFETIME = 86_400_000;

/** The scopes that are watched, the number of the latest event of one, and its events by their numbers. */
function keysOf(scope: string): string[] {
  return [WATCHED, `${PREFIX}latest:${scope}`, `${PREFIX}events:${scope}`];
}

const NOW = `
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)`;

const SCOPES = new RedisScript(
  `${NOW}
  return redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. now, '+inf')`,
  false,
);

/** Arguments: scope. */
const WATCH = new RedisScript(`${NOW}
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
  redis.call('ZADD', KEYS[1], now + ${LIVE_LIMITS.watchTime}, ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ${LIVE_LIMITS.watchTime})
  return tonumber(redis.call('GET', KEYS[2]) or '0')`);

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
  redis.call('PEXPIRE', KEYS[3], ${LIVE_LIMITS.eventLifetime})
  return 1`,
  false,
);

/** Arguments: number of the event to start after. */
const READ = new RedisScript(
  `return redis.call('ZRANGEBYSCORE', KEYS[3], '(' .. ARGV[1], '+inf', 'LIMIT', 0, ${LIVE_LIMITS.readEvents})`,
);

/** The latest events on the queue's Redis. They expire with nobody to watch them. */
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

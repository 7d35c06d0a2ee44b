import type { RedisCommands } from '../../queue/queue-backend.js';
import { RedisScript } from '../../queue/redis/redis-script.js';
import { CREDIT, type RateLimitStore } from './rate-limit-store.js';

/** Without a hash tag, so that a cluster spreads the destinations over its nodes. */
const PREFIX = 'nestjs-analytics:rates:';
/** An unused key is gone after this many milliseconds. */
const LIFETIME = 60_000;

/**
 * Keys: until when the time is reserved, and when that was done. Arguments: milliseconds, credit, lifetime. By the server's
 * clock. Where it was set back since, so is what it has measured: all would wait until it caught up.
 */
const RESERVE = new RedisScript(
  `
  local time = redis.call('TIME')
  local now = time[1] * 1000 + time[2] / 1000
  local former, at = string.match(redis.call('GET', KEYS[1]) or '0 0', '(%S+) (%S+)')
  local start = math.max(former - math.max(at - now, 0), now - ARGV[2])
  local reserved = start + ARGV[1]
  local lifetime = math.ceil(reserved - now + ARGV[3])
  redis.call('SET', KEYS[1], string.format('%.3f %.3f', reserved, now), 'PX', lifetime)
  return string.format('%.3f', start - now)`,
  false,
);

const FORGET = new RedisScript(`return redis.call('DEL', KEYS[1])`, false);

/** Shares the time of destinations on the queue's Redis. */
export class RedisRateLimitStore implements RateLimitStore {
  constructor(private readonly client: RedisCommands) {}

  async reserve(destination: string, milliseconds: number): Promise<number> {
    return Number(await RESERVE.run(this.client, [PREFIX + destination], [milliseconds, CREDIT, LIFETIME]));
  }

  async forget(destination: string): Promise<void> {
    await FORGET.run(this.client, [PREFIX + destination], []);
  }
}

import { types } from 'node:util';
import type { RedisCommands } from '../../queue/queue-backend.js';
import { areKeysRefused } from '../../queue/missing-right.js';
import { failureOf } from '../../queue/queue-failure.js';
import type { QueueHealth } from '../../queue/queue-health.js';
import { RedisScript } from '../../queue/redis/redis-script.js';
import { CREDIT, type RateLimitStore } from './rate-limit-store.js';

/** Without a hash tag, so that a cluster spreads the destinations over its nodes. */
const PREFIX = 'nestjs-analytics:rates:';
/** Key pattern that the documentation asks operators to grant to the Redis user. */
const OWN_KEYS = 'nestjs-analytics:*';
const WAITING = 'Messages for destinations with a `rateLimit` wait until then.';
/** Milliseconds after which an unused key expires. */
const LIFETIME = 60_000;

/**
 * Key: until when the time is reserved, and when that was done. Arguments: milliseconds, credit, lifetime. By the
 * server's clock. If it was set back since, so is the reserved time: otherwise all would wait until it caught up.
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

/** Shares the time of destinations through the queue's Redis. */
export class RedisRateLimitStore implements RateLimitStore {
  constructor(
    private readonly client: RedisCommands,
    private readonly health: Pick<QueueHealth, 'report'>,
  ) {}

  async reserve(destination: string, milliseconds: number): Promise<number> {
    try {
      return Number(await RESERVE.run(this.client, [PREFIX + destination], [milliseconds, CREDIT, LIFETIME]));
    } catch (error) {
      this.report(error);
      throw error;
    }
  }

  async forget(destination: string): Promise<void> {
    await FORGET.run(this.client, [PREFIX + destination], []);
  }

  /** Reports a failure of these keys. The queue does not use them, so nothing else shows a missing right. */
  private report(error: unknown): void {
    if (areKeysRefused(error)) {
      const pattern = `~${this.client.keyPrefix ?? ''}${OWN_KEYS}`;
      const text = `the Redis user has no access to the rate-limit keys (NOPERM): grant it \`${pattern}\`. ${WAITING}`;
      this.health.report(new Error(text, { cause: error }));
    } else if (types.isNativeError(error) && failureOf(error) === undefined) {
      this.health.report(error);
    }
  }
}

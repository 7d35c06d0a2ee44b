import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ALL_EVENTS, LIVE_LIMITS, type LiveFeed } from '../../src/live/live-feed.js';
import { LocalLiveFeed } from '../../src/live/stores/local-live-feed.js';
import { PostgresLiveFeed } from '../../src/live/stores/postgres-live-feed.js';
import { RedisLiveFeed } from '../../src/live/stores/redis-live-feed.js';
import type { QueueBackend } from '../../src/queue/queue-backend.js';
import { describeServers } from '../support/describe-backend.js';
import { FakeClock } from '../support/fake-clock.js';
import { openBackend } from '../support/open-backend.js';
import { PostgresSession } from '../support/postgres-session.js';
import { until } from '../support/until.js';

const MINUTE = LIVE_LIMITS.eventLifetime;
const TABLE = 'nestjs_analytics.live_events';

const OTHER_SESSIONS = `
  SELECT pid FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`;
/** Rows that ended sessions read without an index. */
const ROWS_READ = `SELECT seq_tup_read::int AS read FROM pg_stat_user_tables WHERE relname = 'live_events'`;

/** Returns a Redis key of the feed. */
function keyOf(name: string): string {
  return `{nestjs-analytics:live}:${name}:`;
}

async function eventsIn(feed: LiveFeed): Promise<string[]> {
  return (await feed.read(ALL_EVENTS, 0)).map(({ event }) => event);
}

describe('events that somebody keeps watching, in a queue of a single process', () => {
  it('are gone after a minute, and keep their numbers', async () => {
    const clock = new FakeClock();
    const feed = new LocalLiveFeed(clock);
    await feed.watch(ALL_EVENTS);
    await feed.append(ALL_EVENTS, ['old'], 0);
    await clock.pass(MINUTE - 1);
    await feed.watch(ALL_EVENTS);
    expect(await eventsIn(feed)).toEqual(['old']);
    await clock.pass(2);
    expect(await eventsIn(feed)).toEqual([]);
    await feed.append(ALL_EVENTS, ['new'], 0);
    expect(await feed.read(ALL_EVENTS, 0)).toEqual([{ number: 2, event: 'new' }]);
  });
});

describeServers('events that somebody keeps watching', (backend) => {
  let opened: QueueBackend;
  let clock: FakeClock;

  beforeEach(async () => {
    opened = await openBackend(backend.connection);
    clock = new FakeClock();
  });
  afterEach(() => opened.close());

  function open(): LiveFeed {
    const { storage } = opened;
    if (storage.kind === 'redis') return new RedisLiveFeed(storage.client);
    return new PostgresLiveFeed(storage.pool, clock);
  }

  /** Makes the stored events a minute older. */
  async function age(): Promise<void> {
    const { storage } = opened;
    const script = `
      for _, member in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
        redis.call('ZINCRBY', KEYS[1], -${MINUTE}, member)
      end`;
    if (storage.kind === 'redis') await storage.client.eval(script, 1, keyOf('times'));
    else await storage.pool.query(`UPDATE ${TABLE} SET at = at - interval '${MINUTE} milliseconds'`);
  }

  /** Resolves to the number of stored events, whether or not `read` returns them. */
  async function stored(): Promise<number> {
    const { storage } = opened;
    if (storage.kind !== 'redis') return (await storage.pool.query(`SELECT 1 FROM ${TABLE}`)).rows.length;
    return Number(await storage.client.eval(`return redis.call('ZCARD', KEYS[1])`, 1, keyOf('events')));
  }

  it('are not returned after a minute, and are deleted as soon as somebody asks for the latest', async () => {
    const feed = open();
    await feed.watch(ALL_EVENTS);
    await feed.append(ALL_EVENTS, ['one', 'two'], 0);
    await age();
    await feed.append(ALL_EVENTS, ['three'], 0);
    expect(await feed.read(ALL_EVENTS, 0)).toEqual([{ number: 3, event: 'three' }]);
    await age();
    expect(await eventsIn(feed)).toEqual([]);
    expect(await feed.watch(ALL_EVENTS)).toBe(3);
    expect(await stored()).toBe(0);
  });

  if (backend.name === 'PostgreSQL') {
    it('are deleted after a minute, even if the process that watched them has ended', async () => {
      const [ended, other] = [open(), open()];
      await ended.watch(ALL_EVENTS);
      expect(await other.watched()).toEqual([ALL_EVENTS]);
      await ended.append(ALL_EVENTS, ['one'], 0);
      await age();
      clock.stall(MINUTE);
      expect(await other.watched()).toEqual([ALL_EVENTS]);
      await until(async () => ((await stored()) === 0 ? true : undefined));
    });

    it('are deleted after a minute, even if another scope is watched by then', async () => {
      const feed = open();
      await feed.watch(ALL_EVENTS);
      await feed.append(ALL_EVENTS, ['one'], 0);
      await age();
      clock.stall(MINUTE);
      await feed.watch('acme');
      await until(async () => ((await stored()) === 0 ? true : undefined));
    });

    it('are in a scope that is forgotten a day after somebody watched it', async () => {
      const feed = open();
      const { storage } = opened;
      if (storage.kind === 'redis') throw new Error('This is about PostgreSQL');
      for (const scope of ['acme', ALL_EVENTS]) await feed.watch(scope);
      await storage.pool.query(
        `UPDATE nestjs_analytics.live_scopes SET watched_until = watched_until - interval '25 hours'`,
      );
      clock.stall(MINUTE);
      await feed.watch(ALL_EVENTS);
      await until(async () => {
        const { rows } = await storage.pool.query('SELECT scope FROM nestjs_analytics.live_scopes');
        return rows.length === 1 ? true : undefined;
      });
    });

    it('are not read for watchers of another scope', async () => {
      const many = 10_000;
      await open().watch(ALL_EVENTS);
      const { storage } = opened;
      if (storage.kind === 'redis') throw new Error('This is about PostgreSQL');
      const add = `INSERT INTO ${TABLE} (scope, number, event) SELECT 'other', n, '{}' FROM generate_series(1, ${many}) n`;
      await storage.pool.query(add);
      const feed = open();
      for (let n = 0; n < 10; n++) await feed.watch('acme');
      await opened.close();
      const session = await PostgresSession.open(backend.connection);
      // The first use of the table looks for old events of all scopes. PostgreSQL counts the reads of a session when it
      // has ended.
      await until(async () => ((await session.query(OTHER_SESSIONS)).length === 0 ? true : undefined));
      const [row] = await session.query<{ read: number }>(ROWS_READ);
      await session.close();
      opened = await openBackend(backend.connection);
      expect(row?.read).toBeLessThan(2 * many);
    });
  } else {
    it('are deleted after a minute, even if a process of the previous version added them', async () => {
      const feed = open();
      const { storage } = opened;
      if (storage.kind !== 'redis') throw new Error('This is about Redis');
      const script = `redis.call('SET', KEYS[1], '1') redis.call('ZADD', KEYS[2], 1, '1 one')`;
      await storage.client.eval(script, 2, ...['latest', 'events'].map(keyOf));
      expect(await eventsIn(feed)).toEqual(['one']);
      await feed.watch(ALL_EVENTS);
      await age();
      expect(await eventsIn(feed)).toEqual([]);
      await feed.watch(ALL_EVENTS);
      expect(await stored()).toBe(0);
    });
  }
});

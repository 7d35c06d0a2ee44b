import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import pg from 'pg';
import { createAudienceStore } from '../../../src/audiences/stores/create-audience-store.js';
import type { AudienceEntry, AudienceStore } from '../../../src/options/audience-store.js';
import type { QueueBackend } from '../../../src/queue/queue-backend.js';
import { describeBackend, describeRedis, describeWith } from '../../support/describe-backend.js';
import { emptyBackends } from '../../support/empty-backends.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { RedisServer } from '../../support/redis-server.js';
import { AudiencesOn } from '../audiences-on.js';

const TRAIT = 'big_spenders';
const AUDIENCE = { trait: TRAIT, name: 'Big Spenders', kind: 'audience' } as const;
const HOLD = { trait: TRAIT, token: 'me' };
const STRANGER = { trait: TRAIT, token: 'you' };
const MINUTE = 60_000;
/** Number of members whose deletion takes many statements. */
const MANY = 20_000;
const LOST = { code: 'AUDIENCE_LOCK_LOST' };

const entries = (...userIds: string[]): AudienceEntry[] =>
  userIds.map((userId) => ({ userId, value: 'true' }));

describeBackend('an audience store', (backend) => {
  const openEmpty = emptyBackends(backend);
  let opened: QueueBackend;
  let store: AudienceStore;

  beforeEach(async () => {
    opened = await openEmpty();
    store = await createAudienceStore(opened.storage);
    await store.register(AUDIENCE);
    expect(await store.lock(TRAIT, 'change', HOLD.token, MINUTE)).toBe(true);
  });
  afterEach(() => opened.close());

  async function members(trait = TRAIT): Promise<string[]> {
    const found: string[] = [];
    let from: string | undefined;
    do {
      const page = await store.members(trait, 1_000, from);
      found.push(...page.userIds);
      from = page.next;
    } while (from !== undefined);
    return found.sort();
  }

  async function record(...given: AudienceEntry[]): Promise<void> {
    await store.offer(HOLD, given);
    await store.settle(
      HOLD,
      given.map(({ userId }) => userId),
    );
  }

  async function unseen(limit = 100): Promise<string[]> {
    const found: string[] = [];
    let from: string | undefined;
    do {
      const page = await store.withdrawUnseen(HOLD, limit, from);
      expect(page.userIds.length).toBeLessThanOrEqual(limit);
      await store.settle(HOLD, page.userIds);
      found.push(...page.userIds);
      from = page.next;
    } while (from !== undefined);
    return found.sort();
  }

  it('keeps the first definition of a trait and finds it again', async () => {
    const other = { trait: TRAIT, name: 'big-spenders', kind: 'trait' } as const;
    expect(await store.register(other)).toEqual(AUDIENCE);
    expect(await store.find(TRAIT)).toEqual(AUDIENCE);
    expect(await store.find('unknown')).toBeUndefined();
    await store.register({ ...other, trait: 'другие' });
    expect(await store.list()).toHaveLength(2);
    expect(await store.list()).toEqual(expect.arrayContaining([AUDIENCE, { ...other, trait: 'другие' }]));
  });

  it('keeps each earlier source of a definition once', async () => {
    await store.register({ ...AUDIENCE, source: 'web' });
    expect(await store.find(TRAIT)).toEqual({ ...AUDIENCE, source: 'web' });
    for (const source of ['jobs', 'jobs', 'web', 'jobs', 'app/1']) {
      expect(await store.register({ ...AUDIENCE, source })).toMatchObject({ source });
    }
    const kept = { ...AUDIENCE, source: 'app/1', earlierSources: ['web', 'jobs'] };
    expect(await store.list()).toEqual([kept]);
    expect(await store.register({ ...AUDIENCE, kind: 'trait', source: 'other' })).toEqual(kept);
    expect(await store.find(TRAIT)).toEqual(kept);
  });

  it('records no user before the user is settled', async () => {
    expect(await store.offer(HOLD, entries('ann', 'bob'))).toEqual({ changed: ['ann', 'bob'], unchanged: 0 });
    expect(await members()).toEqual([]);
    await store.settle(HOLD, ['ann']);
    expect(await members()).toEqual(['ann']);
  });

  it('counts an unchanged user once in each generation', async () => {
    await record(...entries('ann', 'bob'));
    expect(await store.offer(HOLD, entries('ann'))).toEqual({ changed: [], unchanged: 0 });
    await store.advance(HOLD);
    expect(await store.offer(HOLD, entries('ann', 'cid'))).toEqual({ changed: ['cid'], unchanged: 1 });
    expect(await store.offer(HOLD, entries('ann'))).toEqual({ changed: [], unchanged: 0 });
  });

  it('returns the users whose value has changed', async () => {
    await record({ userId: 'ann', value: '1' }, { userId: 'bob', value: 'true' });
    await store.advance(HOLD);
    const offered = [
      { userId: 'ann', value: '2' },
      { userId: 'bob', value: 'true' },
    ];
    expect(await store.offer(HOLD, offered)).toEqual({ changed: ['ann'], unchanged: 1 });
    await store.settle(HOLD, ['ann']);
    await store.advance(HOLD);
    expect(await store.offer(HOLD, offered)).toEqual({ changed: [], unchanged: 2 });
    expect(await store.offer(HOLD, [])).toEqual({ changed: [], unchanged: 0 });
    await store.advance(HOLD);
    const back = { userId: 'ann', value: 'true' };
    expect((await store.offer(HOLD, [back])).changed).toEqual(['ann']);
    await store.settle(HOLD, ['ann']);
    await store.advance(HOLD);
    expect((await store.offer(HOLD, [back])).unchanged).toBe(1);
  });

  it('withdraws users who were not seen in this generation, page by page, and no others', async () => {
    await record(...entries('a', 'b', 'c', 'd', 'e', '🚀', 'ü'));
    await store.advance(HOLD);
    await store.offer(HOLD, entries('b', 'new'));
    await store.settle(HOLD, ['new']);
    expect(await unseen(2)).toEqual(['a', 'c', 'd', 'e', 'ü', '🚀'].sort());
    expect(await members()).toEqual(['b', 'new']);
    expect(await unseen()).toEqual([]);
  });

  it('withdraws the users of a list who are members', async () => {
    await record(...entries('ann', 'bob'));
    expect(await store.withdraw(HOLD, ['ann', 'nobody'])).toEqual(['ann']);
    expect(await members()).toEqual(['ann', 'bob']);
    await store.settle(HOLD, ['ann']);
    expect(await members()).toEqual(['bob']);
    expect(await store.withdraw(HOLD, ['ann'])).toEqual([]);
  });

  it('keeps a user in doubt until the user is settled, whatever is recorded', async () => {
    await record(...entries('member'));
    await store.withdraw(HOLD, ['member']);
    await store.offer(HOLD, entries('stranger'));
    await store.advance(HOLD);
    expect((await store.offer(HOLD, entries('member', 'stranger'))).changed.sort()).toEqual([
      'member',
      'stranger',
    ]);
    await store.settle(HOLD, ['member', 'stranger']);
    await store.advance(HOLD);
    expect(await store.offer(HOLD, entries('member', 'stranger'))).toEqual({ changed: [], unchanged: 2 });
  });

  it('withdraws users who are only in doubt, too', async () => {
    await store.offer(HOLD, entries('ann', 'bob'));
    expect(await store.withdraw(HOLD, ['bob'])).toEqual(['bob']);
    await store.settle(HOLD, ['bob']);
    await store.advance(HOLD);
    expect(await unseen()).toEqual(['ann']);
    expect(await store.withdraw(HOLD, ['ann', 'bob'])).toEqual([]);
  });

  it('withdraws each user once in a generation, and no user who was offered in it, settled or not', async () => {
    await record(...entries('ann', 'bob', 'cid', 'dan'));
    await store.offer(HOLD, entries('doubtful', 'eve'));
    await store.withdraw(HOLD, ['ann']);
    await store.advance(HOLD);
    await store.offer(HOLD, entries('ann', 'bob', 'eve', 'new'));
    const found: string[] = [];
    let from: string | undefined;
    do {
      const page = await store.withdrawUnseen(HOLD, 1, from);
      found.push(...page.userIds);
      from = page.next;
    } while (from !== undefined);
    expect(found.sort()).toEqual(['cid', 'dan', 'doubtful']);
    await store.settle(HOLD, ['eve', 'dan']);
    expect(await members()).toEqual(['ann', 'bob', 'cid', 'eve']);

    await store.advance(HOLD);
    expect(await unseen()).toEqual(['ann', 'bob', 'cid', 'doubtful', 'eve', 'new']);
    expect(await members()).toEqual([]);
  });

  it('withdraws users again whom a single change withdrew in the same generation and did not settle', async () => {
    await record(...entries('ann', 'seen'));
    await store.offer(HOLD, entries('doubtful'));
    await store.advance(HOLD);
    await store.offer(HOLD, entries('seen', 'offered'));
    const all = ['ann', 'doubtful', 'offered', 'seen'];
    expect((await store.withdraw(HOLD, all)).sort()).toEqual(all);
    expect(await unseen()).toEqual(['ann', 'doubtful']);
  });

  it('keeps ids of every kind apart', async () => {
    const ids = [
      '1',
      '01',
      'A',
      'a',
      ' a',
      'a ',
      'é',
      'e\u0301',
      'NULL',
      '{}',
      '"',
      "'",
      '\\',
      'a,b',
      '🚀',
      '%',
    ];
    await record(...entries(...ids));
    expect(await members()).toEqual([...ids].sort());
  });

  it('lists thousands of members page by page, each once', async () => {
    const ids = Array.from({ length: 3_000 }, (_, index) => `user-${index}`);
    await record(...entries(...ids));
    expect(await members()).toEqual([...ids].sort());
  });

  it('keeps audiences apart', async () => {
    const other = { trait: 'other', token: 'me' };
    await store.register({ trait: 'other', name: 'Other', kind: 'audience' });
    await store.lock('other', 'change', 'me', MINUTE);
    await record(...entries('ann'));
    expect((await store.offer(other, entries('ann', 'bob'))).changed).toEqual(['ann', 'bob']);
    await store.settle(other, ['ann', 'bob']);
    await store.drop(other);
    expect(await members('other')).toEqual([]);
    expect(await members()).toEqual(['ann']);
    expect(await store.list()).toEqual([AUDIENCE]);
  });

  it('forgets everything about an audience, so that it can begin anew', async () => {
    await record(...entries('ann'));
    await store.offer(HOLD, entries('bob'));
    await store.advance(HOLD);
    await store.drop(HOLD);
    expect(await store.find(TRAIT)).toBeUndefined();
    await store.register({ ...AUDIENCE, kind: 'trait' });
    expect(await store.offer(HOLD, entries('ann', 'bob'))).toEqual({ changed: ['ann', 'bob'], unchanged: 0 });
  });

  it('changes nothing for a caller who does not hold the lock', async () => {
    await record(...entries('ann'));
    await store.advance(HOLD);
    await expect(store.advance(STRANGER)).rejects.toMatchObject(LOST);
    await expect(store.offer(STRANGER, entries('ann', 'bob'))).rejects.toMatchObject(LOST);
    await expect(store.withdraw(STRANGER, ['ann'])).rejects.toMatchObject(LOST);
    await expect(store.withdrawUnseen(STRANGER, 10, undefined)).rejects.toMatchObject(LOST);
    await expect(store.settle(STRANGER, ['ann'])).rejects.toMatchObject(LOST);
    await expect(store.drop(STRANGER)).rejects.toMatchObject(LOST);
    expect(await store.unlock(TRAIT, 'change', STRANGER.token)).toBe(false);
    expect(await store.offer(HOLD, entries('ann', 'bob'))).toEqual({ changed: ['bob'], unchanged: 1 });
  });

  it('gives a lock to one holder at a time, and tells that holder whether another caller wants it', async () => {
    expect(await store.lock(TRAIT, 'sync', 'me', MINUTE)).toBe(true);
    expect(await store.lock(TRAIT, 'sync', 'you', MINUTE)).toBe(false);
    expect(await store.lock('another', 'sync', 'you', MINUTE)).toBe(true);
    expect(await store.renew(TRAIT, 'sync', 'you', MINUTE)).toBe(false);
    expect(await store.renew(TRAIT, 'sync', 'me', MINUTE)).toBe(true);
    expect(await store.unlock(TRAIT, 'sync', 'me')).toBe(true);
    expect(await store.lock(TRAIT, 'sync', 'you', MINUTE)).toBe(true);
    expect(await store.unlock(TRAIT, 'sync', 'you')).toBe(false);
    expect(await store.renew(TRAIT, 'sync', 'you', MINUTE)).toBe(false);
  });

  it('gives an expired lock to the next caller, and not back to its first holder', async () => {
    await store.lock(TRAIT, 'sync', 'me', 1);
    while (!(await store.lock(TRAIT, 'sync', 'you', MINUTE)));
    expect(await store.renew(TRAIT, 'sync', 'me', MINUTE)).toBe(false);
    expect(await store.lock(TRAIT, 'sync', 'me', MINUTE)).toBe(false);
  });

  it('gives a lock to only one of two simultaneous callers', async () => {
    const both = await Promise.all([
      store.lock('race', 'sync', 'me', MINUTE),
      store.lock('race', 'sync', 'you', MINUTE),
    ]);
    expect(both.sort()).toEqual([false, true]);
  });
});

describeRedis('an audience store on Redis', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await RedisServer.create();
  });
  afterAll(() => server.dispose());

  it('takes over the users whom version 0.1.0 left in doubt', async () => {
    const on = await AudiencesOn.open(server.url());
    const { store } = on;
    await store.register(AUDIENCE);
    await store.lock(TRAIT, 'change', HOLD.token, MINUTE);
    await store.offer(HOLD, entries('leaving'));
    await store.settle(HOLD, ['leaving']);
    const redis = new Redis(server.url());
    const doubts = { offered: 'true', added: 'true', leaving: '' };
    await redis.hset(`{nestjs-analytics:audience:${TRAIT}}:doubts`, doubts);
    redis.disconnect();

    await store.advance(HOLD);
    expect((await store.offer(HOLD, entries('offered'))).changed).toEqual(['offered']);
    const { userIds, next } = await store.withdrawUnseen(HOLD, 10, undefined);
    expect([userIds.sort(), next]).toEqual([['added', 'leaving'], undefined]);
    await store.settle(HOLD, ['offered', 'added', 'leaving']);
    expect((await store.members(TRAIT, 10, undefined)).userIds).toEqual(['offered']);
    await on.close();
  });
});

describeWith('postgres', PostgresServer.installed, 'an audience store on PostgreSQL', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await PostgresServer.create();
  });
  afterAll(() => server.dispose());

  it('reads each member about once when it forgets an audience in a table that was never analyzed', async () => {
    const connection = await server.createDatabase();
    const on = await AudiencesOn.open(connection);
    await on.store.register(AUDIENCE);
    await on.store.lock(TRAIT, 'change', HOLD.token, MINUTE);
    await on.store.offer(HOLD, entries(...Array.from({ length: MANY }, (_, n) => `user-${String(n)}`)));
    const before = await rowsRead(connection);
    await on.store.drop(HOLD);
    // A session reports its reads when it ends, at the latest.
    await on.close();
    expect((await rowsRead(connection)) - before).toBeLessThan(4 * MANY);
  });

  it('uses up one id for each audience, however many calls are about it', async () => {
    const connection = await server.createDatabase();
    const on = await AudiencesOn.open(connection);
    const { audiences } = on.live();
    for (const user of ['ann', 'bob', 'ann']) await audiences.add(AUDIENCE.name, user);
    await audiences.add('VIP', 'ann');
    const rows = await query(connection, 'SELECT max(id) AS last FROM nestjs_analytics.audience');
    expect(rows).toEqual([{ last: 2 }]);
    await on.close();
  });

  it('takes over a lock from before the clock was set back; its former holder gets an error', async () => {
    const connection = await server.createDatabase();
    const on = await AudiencesOn.open(connection);
    expect(await on.store.lock(TRAIT, 'change', STRANGER.token, MINUTE)).toBe(true);
    const anHour = `SET expires_at = expires_at + interval '1 hour'`;
    await query(connection, `UPDATE nestjs_analytics.audience_lock ${anHour}`);
    const { audiences } = on.live();
    expect(await audiences.add(AUDIENCE.name, 'ann', { wait: 1_000 })).toBe(true);
    await expect(on.store.offer(STRANGER, entries('bob'))).rejects.toMatchObject(LOST);
    await on.close();
  });

  it('takes over the audiences of an older version, and leaves them readable for it', async () => {
    const connection = await server.createDatabase();
    const before = await AudiencesOn.open(connection);
    await before.store.register({ ...AUDIENCE, source: 'web' });
    await query(connection, 'ALTER TABLE nestjs_analytics.audience DROP COLUMN earlier_sources');
    await before.close();

    const on = await AudiencesOn.open(connection);
    await on.store.register({ ...AUDIENCE, source: 'jobs' });
    expect(await on.store.list()).toEqual([{ ...AUDIENCE, source: 'jobs', earlierSources: ['web'] }]);
    const rows = await query(connection, 'SELECT trait, name, kind, source FROM nestjs_analytics.audience');
    expect(rows).toEqual([{ ...AUDIENCE, source: 'jobs' }]);
    await on.close();
  });
});

async function rowsRead(connection: string): Promise<number> {
  const [row] = await query<{ count: string }>(
    connection,
    `SELECT seq_tup_read + idx_tup_fetch AS count FROM pg_stat_user_tables WHERE relname = 'audience_member'`,
  );
  return Number(row?.count);
}

async function query<R extends pg.QueryResultRow>(connection: string, text: string): Promise<R[]> {
  const client = new pg.Client({ connectionString: connection });
  await client.connect();
  const { rows } = await client.query<R>(text);
  await client.end();
  return rows;
}

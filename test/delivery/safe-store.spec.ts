import { afterAll, beforeAll, beforeEach, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { describeRedis } from '../support/describe-backend.js';
import { RedisServer } from '../support/redis-server.js';
import { Stage } from '../support/stage.js';

describeRedis('a Redis that the queue is put on', () => {
  const stage = new Stage();
  let server: RedisServer;
  let admin: Redis;

  beforeAll(async () => {
    server = await RedisServer.create();
    admin = new Redis(server.url());
    await admin.acl('SETUSER', 'tenant', 'on', '>password', '~*', '&*', '+@all', '-config');
  });
  beforeEach(async () => {
    // BullMQ has a line of its own for the eviction policy.
    jest.spyOn(console, 'warn').mockImplementation(() => undefined);
    await admin.config('SET', 'appendonly', 'no');
    await admin.config('SET', 'save', '');
    await admin.config('SET', 'maxmemory-policy', 'noeviction');
  });
  afterAll(async () => {
    jest.restoreAllMocks();
    admin.disconnect();
    await server.dispose();
  });

  /** What is said at start, by an application that has used its queue. */
  async function logAtStart(user?: string): Promise<string[]> {
    const connection = new URL(server.url());
    if (user !== undefined) Object.assign(connection, { username: user, password: 'password' });
    const app = await stage.app({
      connection: connection.href,
      webhooks: { urls: ['https://hooks.example.com/events'] },
      worker: false,
    });
    app.analytics.track({ userId: 'u1', event: 'Queued' });
    await app.analytics.flush();
    await app.close();
    return app.log.analytics;
  }

  it.each([
    ['an append-only file', { appendonly: 'yes' }],
    ['snapshots', { save: '3600 1' }],
  ])('is not remarked upon when it evicts nothing and has %s', async (_, settings) => {
    for (const [name, value] of Object.entries(settings)) await admin.config('SET', name, value);
    expect(await logAtStart()).toEqual([]);
  });

  it('is told of in one warning when it may evict jobs and keeps nothing on disk', async () => {
    await admin.config('SET', 'maxmemory-policy', 'allkeys-lru');
    expect(await logAtStart()).toEqual([
      "warn: The queue's Redis can lose messages that are in the queue: its `maxmemory-policy` is `allkeys-lru` " +
        '(set it to `noeviction`), and it keeps nothing on disk (set `appendonly yes`).',
    ]);
  });

  it('is told of when it keeps nothing on disk', async () => {
    expect(await logAtStart()).toEqual([expect.stringMatching(/queue: it keeps nothing on disk/)]);
  });

  it('is not suspected of what it does not let us ask', async () => {
    expect(await logAtStart('tenant')).toEqual([]);
  });

  it('is told of when it may evict jobs, although it does not let us ask for the rest', async () => {
    await admin.config('SET', 'maxmemory-policy', 'volatile-ttl');
    expect(await logAtStart('tenant')).toEqual([
      expect.stringMatching(/is `volatile-ttl` \(set it to.*\)\.$/),
    ]);
  });
});

import { afterAll, beforeAll, beforeEach, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { describeRedis } from '../support/describe-backend.js';
import { RedisServer } from '../support/redis-server.js';
import { Stage } from '../support/stage.js';

describeRedis('the Redis of a queue', () => {
  const stage = new Stage();
  let server: RedisServer;
  let admin: Redis;

  beforeAll(async () => {
    server = await RedisServer.create();
    admin = new Redis(server.url());
    await admin.acl('SETUSER', 'tenant', 'on', '>password', '~*', '&*', '+@all', '-config');
  });
  beforeEach(async () => {
    // BullMQ logs a line of its own about the eviction policy.
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

  /** Returns the log of an application that has started and used its queue. */
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
  ])('causes no warning if it evicts nothing and has %s', async (_, settings) => {
    for (const [name, value] of Object.entries(settings)) await admin.config('SET', name, value);
    expect(await logAtStart()).toEqual([]);
  });

  it('causes one warning if it may evict jobs and keeps nothing on disk', async () => {
    await admin.config('SET', 'maxmemory-policy', 'allkeys-lru');
    expect(await logAtStart()).toEqual([
      "warn: The queue's Redis can lose queued messages: its `maxmemory-policy` is `allkeys-lru` " +
        '(set it to `noeviction`), and it keeps nothing on disk (set `appendonly yes`).',
    ]);
  });

  it('causes a warning if it keeps nothing on disk', async () => {
    expect(await logAtStart()).toEqual([expect.stringMatching(/queued messages: it keeps nothing on disk/)]);
  });

  it('causes no warning about settings that it does not let the application read', async () => {
    expect(await logAtStart('tenant')).toEqual([]);
  });

  it('causes a warning if it may evict jobs, even if it does not show its other settings', async () => {
    await admin.config('SET', 'maxmemory-policy', 'volatile-ttl');
    expect(await logAtStart('tenant')).toEqual([
      expect.stringMatching(/is `volatile-ttl` \(set it to.*\)\.$/),
    ]);
  });
});

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { deferred } from '../../support/deferred.js';
import { describeRedis } from '../../support/describe-backend.js';
import { RedisServer } from '../../support/redis-server.js';
import { Stage, webhooksTo } from '../../support/stage.js';
import { until } from '../../support/until.js';

describeRedis('a job that a worker has in hand', () => {
  const stage = new Stage();
  let server: RedisServer;
  let admin: Redis;

  beforeAll(async () => {
    server = await RedisServer.create();
    admin = new Redis(server.url());
  });
  afterAll(async () => {
    admin.disconnect();
    await server.dispose();
  });

  /** Resolves to the time to live of the only key that matches a pattern, in milliseconds. */
  function lifetimeOf(pattern: string): Promise<number> {
    return until(async () => {
      const [key] = await admin.keys(pattern);
      return key === undefined ? undefined : admin.pttl(key);
    });
  }

  it('goes to another worker soon after a crash, however long the `timeout` of a destination is', async () => {
    const answer = deferred();
    const receiver = await stage.receiver({ answer: () => answer.promise.then(() => 200) });
    const app = await stage.app({
      connection: server.url(),
      webhooks: webhooksTo(receiver, { timeout: 600_000 }),
    });
    app.analytics.track({ userId: 'u1', event: 'In hand' });
    await app.analytics.flush();
    await receiver.received(1);
    const lock = await lifetimeOf('*:lock');
    expect(lock).toBeGreaterThan(0);
    expect(lock).toBeLessThanOrEqual(30_000);
    const check = await lifetimeOf('*:stalled-check');
    expect(check).toBeGreaterThan(0);
    expect(check).toBeLessThanOrEqual(15_000);
    answer.resolve();
    await app.settled();
  });
});

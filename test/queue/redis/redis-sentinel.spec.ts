import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { describeRedis } from '../../support/describe-backend.js';
import { freePort } from '../../support/free-port.js';
import { RedisSentinel } from '../../support/redis-sentinel.js';
import { Stage, webhooksTo } from '../../support/stage.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { until } from '../../support/until.js';

describeRedis('a queue whose Redis is found by Sentinels', () => {
  const stage = new Stage();
  let sentinel: RedisSentinel;

  beforeAll(async () => {
    sentinel = await RedisSentinel.create();
  });
  afterAll(() => sentinel.dispose());

  it('asks the next Sentinel if the first one accepts connections and never answers', async () => {
    const { sentinels, name } = sentinel.connection;
    const silent = await stage.add(TcpProxy.start(sentinel));
    silent.swallow(true);
    const receiver = await stage.receiver();
    const app = await stage.app({
      connection: { sentinels: [{ host: '127.0.0.1', port: silent.port }, ...sentinels], name },
      webhooks: webhooksTo(receiver),
    });
    app.analytics.track({ userId: 'u1', event: 'Found' });
    await receiver.received(1);
    await app.settled();
    expect(silent.accepted).toBeGreaterThan(0);
  });

  it('is found again after no Sentinel could be asked for a while, even if ioredis was told to give up then', async () => {
    const way = await stage.add(TcpProxy.start(sentinel));
    const receiver = await stage.receiver();
    const app = await stage.app({
      connection: {
        sentinels: [{ host: '127.0.0.1', port: way.port }],
        name: 'main',
        sentinelRetryStrategy: () => null,
      },
      webhooks: webhooksTo(receiver),
    });
    way.turnTo({ port: await freePort() });
    way.reset();
    const { accepted } = way;
    const admin = new Redis({ port: sentinel.master.port });
    await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    admin.disconnect();
    await app.log.line(/cannot be reached/);
    await until(() => way.accepted >= accepted + 2 || undefined);

    way.turnTo(sentinel);
    app.analytics.track({ userId: 'u1', event: 'Found again' });
    await receiver.received(1);
  });
});

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeRedis } from '../../support/describe-backend.js';
import { RedisSentinel } from '../../support/redis-sentinel.js';
import { Stage, webhooksTo } from '../../support/stage.js';
import { TcpProxy } from '../../support/tcp-proxy.js';

describeRedis('a queue whose Redis is found by Sentinels', () => {
  const stage = new Stage();
  let sentinel: RedisSentinel;

  beforeAll(async () => {
    sentinel = await RedisSentinel.create();
  });
  afterAll(() => sentinel.dispose());

  it('asks the next one if the first one accepts connections and never answers', async () => {
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
});

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeRedis } from '../support/describe-backend.js';
import { RedisServer } from '../support/redis-server.js';
import { Stage } from '../support/stage.js';

describeRedis('a tenant whose destinations cannot be looked up', () => {
  const stage = new Stage();
  let server: RedisServer;

  beforeAll(async () => {
    server = await RedisServer.create();
  });
  afterAll(() => server.dispose());

  it('leaves no rejection unheard where its message is refused because the buffer is full', async () => {
    const rejections: unknown[] = [];
    const onRejection = (reason: unknown): void => void rejections.push(reason);
    process.on('unhandledRejection', onRejection);
    const app = await stage.app({
      connection: server.url(),
      maxBufferedBytes: 0,
      destinations: {
        allowPrivateNetwork: true,
        tenant: () => {
          throw new Error('no tenant');
        },
      },
    });
    app.analytics.track({ userId: 'u1', event: 'E' });
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', onRejection);
    expect(rejections).toEqual([]);
    expect(await app.analytics.flush()).toEqual({ queued: 0, refused: 1, pending: 0 });
    await app.log.line(/Messages are refused: the buffer is full/);
  });
});

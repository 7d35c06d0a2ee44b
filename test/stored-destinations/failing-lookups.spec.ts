import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeRedis } from '../support/describe-backend.js';
import { RedisServer } from '../support/redis-server.js';
import { eventsIn } from '../support/received-message.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { DamagedTable } from './damaged-table.js';

describeRedis('a tenant whose destinations cannot be looked up', () => {
  const stage = new Stage();
  let server: RedisServer;

  beforeAll(async () => {
    server = await RedisServer.create();
  });
  afterAll(() => server.dispose());

  it('leaves no rejection unhandled if its message is refused because the buffer is full', async () => {
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
    await app.log.line(/Messages are refused: the buffer is full \(`maxBufferedBytes`\)/);
  });

  it("costs at most one read of an error's stack, and none if nothing is logged", async () => {
    let stacks = 0;
    const app = await stage.app({
      connection: server.url(2),
      maxBufferedBytes: 1_000,
      destinations: {
        tenant: () => {
          const error = new TypeError('no such user');
          const stack = error.stack;
          throw Object.defineProperty(error, 'stack', { get: () => (stacks++, stack) });
        },
      },
    });
    app.analytics.track({ userId: 'u1', event: 'Refused', properties: { text: 'x'.repeat(1_000) } });
    await app.analytics.flush();
    expect(stacks).toBe(0);
    app.analytics.track({ userId: 'u1', event: 'Told' });
    expect(await app.analytics.flush()).toEqual({ queued: 0, refused: 1, pending: 0 });
    await app.log.line(/`destinations\.tenant` threw TypeError at /);
    expect(stacks).toBe(1);
  });

  it('does not hold up other tenants, and gets its own messages once it can be looked up', async () => {
    const [acme, damaged, all] = [await stage.receiver(), await stage.receiver(), await stage.receiver()];
    const table = new DamagedTable();
    table.rows.push({ id: 'acme-hook', tenant: 'acme', urls: [acme.url()] });
    table.rows.push({ id: 'damaged-hook', tenant: 'damaged', urls: [damaged.url()] });
    const app = await stage.app({
      connection: server.url(1),
      webhooks: webhooksTo(all),
      destinations: { store: table, allowPrivateNetwork: true },
      flushAt: 1,
    });
    app.analytics.tenant('damaged').track({ userId: 'u1', event: 'waits' });
    app.analytics.tenant('damaged').track({ userId: 'u1', event: 'waits too' });
    app.analytics.tenant('acme').track({ userId: 'u1', event: 'passes' });
    app.analytics.track({ userId: 'u1', event: 'of no tenant' });
    await acme.received(1);
    await all.received(2);
    expect(eventsIn(all.requests)).toEqual(['of no tenant', 'passes']);
    expect(await app.analytics.flush({ timeout: 0 })).toMatchObject({ pending: 2 });
    table.isRepaired = true;
    await damaged.received(2);
    expect(eventsIn(damaged.requests)).toEqual(['waits', 'waits too']);
    expect(eventsIn(acme.requests)).toEqual(['passes']);
  });
});

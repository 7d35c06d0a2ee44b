import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { AnalyticsService, DestinationsService, Track } from '../../src/index.js';
import { basic, PLATFORMS, TrackingServer } from '../ingest/http/tracking-server.js';
import { eventsIn, messageIn } from '../support/received-message.js';
import { Receiver } from '../support/receiver.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { quickConnections } from '../support/quick-connections.js';

const newConnection = quickConnections();
/** A number that JavaScript rounds. */
const LONG = '9007199254740993';

@Injectable()
class Orders {
  @Track('decorated', { userId: 'u1', tenant: ({ args: [tenant] }) => tenant })
  place(tenant: string): string {
    return tenant;
  }

  @Track('fixed', { userId: 'u1', tenant: 'acme' })
  refund(): string {
    return 'refunded';
  }
}

describe.each(PLATFORMS)('the tenant of a message on %s', (platform) => {
  let receiver: Receiver;
  let server: TrackingServer;

  beforeEach(async () => {
    receiver = await Receiver.start();
    server = await TrackingServer.start({
      platform,
      analytics: {
        sources: [
          { name: 'web', writeKey: 'wk_web' },
          { name: 'acme', writeKey: 'wk_acme', tenant: 'acme' },
        ],
        destinations: { allowPrivateNetwork: true },
        connection: await newConnection(),
        flushAt: 1,
      },
      host: { providers: [Orders] },
    });
    const destinations = server.app.get(DestinationsService);
    await destinations.create({ tenant: 'acme', urls: [receiver.url()] });
    await destinations.create({ tenant: LONG, urls: [receiver.url()] });
  });
  afterEach(async () => {
    await server.close();
    await receiver.close();
  });

  it('comes from the message of the tracking API, unless the write key is bound to a tenant', async () => {
    const send = async (key: string, event: string, groupId?: string): Promise<void> => {
      const message = { userId: 'u1', event, ...(groupId !== undefined && { context: { groupId } }) };
      expect(await server.post('/v1/track', message, basic(key))).toMatchObject({ status: 200 });
    };
    await send('wk_web', 'by the message', 'acme');
    await send('wk_web', 'of another', 'other');
    await send('wk_web', 'of nobody');
    await send('wk_acme', 'by the key');
    await send('wk_acme', 'by the key, whatever it says', 'other');
    expect(eventsIn(await receiver.received(3))).toEqual([
      'by the key',
      'by the key, whatever it says',
      'by the message',
    ]);
  });

  it('may be a number in a message or a batch context of the tracking API, and keeps all of its digits', async () => {
    const message = (event: string, context: string): string =>
      `{"type":"track","userId":"u1","event":"${event}","context":${context}}`;
    const messages = [message('its own', `{"groupId":${LONG}}`), message('of the batch', '{}')];
    const batch = `{"context":{"groupId":${LONG}},"batch":[${messages.join(',')}]}`;
    expect(await server.post('/v1/batch', batch, basic('wk_web'))).toMatchObject({ status: 200 });
    const single = message('single', `{"groupId":${LONG}}`);
    expect(await server.post('/v1/track', single, basic('wk_web'))).toMatchObject({ status: 200 });
    const received = await receiver.received(3);
    expect(eventsIn(received)).toEqual(['its own', 'of the batch', 'single']);
    for (const request of received) expect(messageIn(request)).toMatchObject({ context: { groupId: LONG } });

    const unknown = message('unknown', '{"groupId":1e300}');
    expect(await server.post('/v1/track', unknown, basic('wk_web'))).toMatchObject({
      status: 400,
      body: { code: 'INVALID_MESSAGE', message: expect.stringContaining('`context.groupId`') },
    });
  });

  it('is an option of decorators', async () => {
    const orders = server.app.get(Orders);
    orders.place('acme');
    orders.place('other');
    orders.place('');
    orders.refund();
    expect(eventsIn(await receiver.received(2))).toEqual(['decorated', 'fixed']);
    expect(await server.log.line(/@Track\("decorated"\)/)).toContain('`tenant`');
  });

  it('is refused if it is not a valid tenant', () => {
    const analytics = server.app.get(AnalyticsService);
    for (const id of ['', 'x'.repeat(201), 'a\u0000']) {
      expect(() => analytics.tenant(id)).toThrow(
        expect.objectContaining({ code: 'INVALID_MESSAGE', field: 'tenant' }),
      );
    }
  });
});

describe('a number as the group in the context', () => {
  const stage = new Stage();
  const call = { userId: 'u1', event: 'Numbered', context: { groupId: 42 } };
  const refused = expect.objectContaining({
    code: 'INVALID_MESSAGE',
    field: 'context.groupId',
    message: 'Expected `context.groupId` to be a string, got a number',
  });

  it('is refused if it would select the tenant, unless the tenant is given elsewhere', async () => {
    const { analytics } = await stage.app({
      connection: await newConnection(),
      destinations: { encryptionKey: false },
    });
    expect(() => analytics.track(call)).toThrow(refused);
    expect(() => analytics.track({ ...call, context: { groupId: {} } })).toThrow(/`context.groupId`/);
    for (const groupId of ['', null, undefined]) analytics.track({ ...call, context: { groupId } });
    analytics.tenant('acme').track(call);
  });

  it('is refused if `beforeSend` returns it', async () => {
    const { analytics } = await stage.app({
      connection: await newConnection(),
      destinations: { encryptionKey: false },
      beforeSend: (message) => ({ ...message, context: call.context }),
    });
    expect(() => analytics.track({ userId: 'u1', event: 'Changed' })).toThrow(
      /`beforeSend` returned .* Expected `context.groupId` to be a string/,
    );
  });

  it('is sent unchanged if there are no destinations of tenants, or if a function selects the tenant', async () => {
    const receiver = await stage.receiver();
    const options = { webhooks: webhooksTo(receiver), flushAt: 1 };
    const without = await stage.app({ ...options, connection: await newConnection() });
    without.analytics.track(call);
    const own = await stage.app({
      ...options,
      connection: await newConnection(),
      destinations: { encryptionKey: false, tenant: () => undefined },
    });
    own.analytics.track(call);
    for (const request of await receiver.received(2))
      expect(messageIn(request)).toMatchObject({ context: call.context });
  });
});

describe('a `destinations.tenant` that returns no tenant', () => {
  const stage = new Stage();

  it.each([
    ['a number', () => 42, 'got a number'],
    [
      'a promise that is rejected',
      () => Promise.reject(new Error('no secret')),
      'got a Promise: it must be synchronous',
    ],
  ])('but %s gives its messages no tenant, and is logged once', async (_case, tenant, got) => {
    const receiver = await stage.receiver();
    const app = await stage.app({
      connection: await newConnection(),
      destinations: { encryptionKey: false, tenant: tenant as unknown as () => string },
      webhooks: webhooksTo(receiver),
    });
    for (let n = 0; n < 3; n++) app.analytics.track({ userId: 'u1', event: 'Numbered' });
    expect(await app.analytics.flush()).toEqual({ queued: 3, refused: 0, pending: 0 });
    await receiver.received(3);
    expect(app.log.analytics.filter((line) => line.includes('destinations.tenant'))).toEqual([
      expect.stringContaining(got),
    ]);
  });

  it.each([undefined, null])('but %s gives its messages no tenant, and is not logged', async (none) => {
    const app = await stage.app({
      connection: await newConnection(),
      destinations: { encryptionKey: false, tenant: (() => none) as () => undefined },
      webhooks: webhooksTo(await stage.receiver()),
    });
    app.analytics.track({ userId: 'u1', event: 'Of nobody' });
    await app.analytics.flush();
    expect(app.log.analytics.filter((line) => line.includes('destinations.tenant'))).toEqual([]);
  });
});

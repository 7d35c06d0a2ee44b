import { describe, expect, it } from '@jest/globals';
import { LIBRARY } from '../../src/messages/library.js';
import { quickConnections } from '../support/quick-connections.js';
import { eventsIn, messageIn } from '../support/received-message.js';
import { Stage, webhooksTo } from '../support/stage.js';

const newConnection = quickConnections();

const SOURCES = {
  writeKey: undefined,
  sources: [
    { name: 'web', writeKey: 'wk_web' },
    { name: 'app', writeKey: 'wk_app' },
    { name: 'off', writeKey: 'wk_off', enabled: false },
  ],
};

describe('what a call sends', () => {
  const stage = new Stage();

  it('holds the values given at the call, whatever the caller changes later', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({ connection: await newConnection(), webhooks: webhooksTo(receiver) });
    const properties = { plan: 'free', items: [{ price: 1 }] };
    app.analytics.track({ userId: 'u1', event: 'Signed Up', properties });
    properties.plan = 'paid';
    properties.items.push({ price: 2 });
    await app.analytics.flush();
    const [request] = await receiver.received(1);
    expect(request && messageIn(request).properties).toEqual({ plan: 'free', items: [{ price: 1 }] });
  });

  it('has its own context merged over the default context, and names this library', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: webhooksTo(receiver),
      context: { app: { name: 'shop' }, locale: 'en' },
    });
    app.analytics.track({ userId: 'u1', event: 'A', context: { locale: 'de' } });
    await app.analytics.flush();
    const [request] = await receiver.received(1);
    expect(request && messageIn(request).context).toEqual({
      library: LIBRARY,
      app: { name: 'shop' },
      locale: 'de',
    });
  });

  it('reaches Webhooks only if `integrations` allows it', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({ connection: await newConnection(), webhooks: webhooksTo(receiver) });
    const track = (event: string, integrations: Record<string, boolean>): string =>
      app.analytics.track({ userId: 'u1', event, integrations });
    track('all off', { All: false });
    track('this one on', { All: false, Webhooks: true });
    track('this one off', { Webhooks: false });
    track('another name', { All: false, webhooks: true });
    track('another off', { Mixpanel: false });
    expect(await app.analytics.flush()).toEqual({ queued: 2, refused: 0, pending: 0 });
    const requests = await receiver.received(2);
    expect(eventsIn(requests)).toEqual(['another off', 'this one on']);
    for (const { body } of requests) expect(body.toString()).not.toContain('integrations');
  });

  it('reaches the destination whose id `integrations` names, unless a schema forbids it', async () => {
    const [first, second] = [await stage.receiver(), await stage.receiver()];
    const app = await stage.app({
      connection: await newConnection(),
      writeKey: undefined,
      sources: [
        { name: 'web', writeKey: 'wk', schema: { kept: { Webhooks: false }, half: { 'cust-2': false } } },
      ],
      webhooks: [webhooksTo(first, { id: 'cust-1' }), webhooksTo(second, { id: 'cust-2' })],
    });
    const track = (event: string, integrations: Record<string, boolean>): string =>
      app.analytics.track({ userId: 'u1', event, integrations });
    track('one', { All: false, 'cust-1': true });
    track('but one', { 'cust-1': false });
    track('by name', { All: false, Webhooks: true, 'cust-2': false });
    track('kept', { All: false, 'cust-1': true });
    track('half', {});
    await app.analytics.flush();
    await app.settled();
    expect(eventsIn(first.requests)).toEqual(['by name', 'half', 'one']);
    expect(eventsIn(second.requests)).toEqual(['but one']);
    expect(app.analytics.usage()).toEqual({ received: 5, filtered: 1 });
  });

  it('is nothing if its source is disabled', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: webhooksTo(receiver),
      ...SOURCES,
    });
    app.analytics.source('off').track({ userId: 'u1', event: 'A' });
    expect(await app.analytics.flush()).toEqual({ queued: 0, refused: 0, pending: 0 });
    expect(() => app.analytics.source('none')).toThrow(expect.objectContaining({ code: 'UNKNOWN_SOURCE' }));
  });

  it('is one notification for each affected source, each with an id of its own, if it is a deletion', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: webhooksTo(receiver),
      ...SOURCES,
    });
    const first = app.analytics.delete({ userId: 'u1' });
    expect(await app.analytics.flush()).toEqual({ queued: 2, refused: 0, pending: 0 });
    const requests = await receiver.received(2);
    const ids = requests.map(({ headers }) => headers['webhook-id']);
    expect(ids).toContain(first);
    expect(new Set(ids).size).toBe(2);
    for (const request of requests) {
      expect(Object.keys(messageIn(request))).toEqual(['type', 'userId', 'timestamp']);
    }
  });

  it('is one notification if it is a deletion by one source', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: webhooksTo(receiver),
      ...SOURCES,
    });
    app.analytics.source('app').delete({ userId: 'u1' });
    expect(await app.analytics.flush()).toEqual({ queued: 1, refused: 0, pending: 0 });
  });
});

import { describe, expect, it } from '@jest/globals';
import type { AnalyticsMessage, AnalyticsModuleOptions } from '../../src/index.js';
import type { AnalyticsApp } from '../support/analytics-app.js';
import { quickConnections } from '../support/quick-connections.js';
import { messageIn } from '../support/received-message.js';
import type { Receiver } from '../support/receiver.js';
import { Stage, webhooksTo } from '../support/stage.js';

const newConnection = quickConnections();

type BeforeSend = NonNullable<AnalyticsModuleOptions['beforeSend']>;

describe('beforeSend', () => {
  const stage = new Stage();

  async function start(beforeSend: BeforeSend): Promise<{ app: AnalyticsApp; receiver: Receiver }> {
    const receiver = await stage.receiver();
    return {
      receiver,
      app: await stage.app({ connection: await newConnection(), webhooks: webhooksTo(receiver), beforeSend }),
    };
  }

  it('changes what is sent, but not the objects of the caller', async () => {
    const { app, receiver } = await start((message) => {
      if (message.type === 'track')
        Object.assign(message.properties, { card: 'hidden', nested: { deep: 2 } });
      return message;
    });
    const properties = { card: '4111', nested: { deep: 1 } };
    app.analytics.track({ userId: 'u1', event: 'Paid', properties });
    await app.analytics.flush();
    const [request] = await receiver.received(1);
    expect(request && messageIn(request).properties).toEqual({ card: 'hidden', nested: { deep: 2 } });
    expect(properties).toEqual({ card: '4111', nested: { deep: 1 } });
  });

  it('drops a message by returning null, which does not count as a refusal', async () => {
    const { app, receiver } = await start((message) => (message.type === 'identify' ? null : message));
    expect(app.analytics.identify({ userId: 'u1', messageId: 'dropped' })).toBe('dropped');
    app.analytics.track({ userId: 'u1', event: 'Kept' });
    expect(await app.analytics.flush()).toEqual({ queued: 1, refused: 0, pending: 0 });
    const [request] = await receiver.received(1);
    expect(request && messageIn(request).event).toBe('Kept');
  });

  it('causes a refusal if it throws, which is logged once and without the payload', async () => {
    const { app } = await start((message) => {
      throw new TypeError(`cannot read ${JSON.stringify(message)}`);
    });
    for (let n = 0; n < 3; n++) app.analytics.track({ userId: 'private-user', event: 'private-event' });
    expect(await app.analytics.flush()).toEqual({ queued: 0, refused: 3, pending: 0 });
    expect(app.log.analytics).toHaveLength(1);
    expect(app.log.analytics[0]).toMatch(/^warn: .*`beforeSend` threw TypeError/);
    expect(app.log.analytics[0]).not.toContain('private');
  });

  it('is logged with the place where it throws, not with a line of the error text that looks like a place', async () => {
    const { app } = await start((message) => {
      throw new TypeError(`cannot read\n    at ${String(message.userId)}`);
    });
    app.analytics.track({ userId: 'private-user', event: 'A' });
    expect(app.log.analytics[0]).toMatch(/`beforeSend` threw TypeError at .*before-send\.spec/);
    expect(app.log.analytics[0]).not.toContain('private');
  });

  it('must be synchronous: the call refuses a promise, whose rejection does no harm', async () => {
    const asynchronous = (() => Promise.reject(new Error('late'))) as unknown as BeforeSend;
    const { app } = await start(asynchronous);
    const rejections: unknown[] = [];
    const onRejection = (reason: unknown): void => void rejections.push(reason);
    process.on('unhandledRejection', onRejection);
    expect(() => app.analytics.track({ userId: 'u1', event: 'A' })).toThrow(
      expect.objectContaining({
        code: 'INVALID_MESSAGE',
        field: 'beforeSend',
        message: expect.stringMatching(/^Expected `beforeSend` to return .* got a Promise.*synchronous/),
      }),
    );
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', onRejection);
    expect(rejections).toEqual([]);
  });

  it('is named as the cause if it returns no message, or a message with a wrong field', async () => {
    let change = (message: object): unknown => message;
    const { app } = await start((message) => change(message) as AnalyticsMessage);
    const cases: [change: (message: object) => unknown, field: string, text: RegExp][] = [
      [() => undefined, 'beforeSend', /^Expected `beforeSend` to return the message, .* got undefined$/],
      [() => [], 'beforeSend', /^Expected `beforeSend` to return the message, .* got an array$/],
      [() => true, 'beforeSend', /^Expected `beforeSend` to return the message, .* got a boolean$/],
      [(message) => ({ ...message, userId: 42 }), 'userId', /^`beforeSend` returned .* got a number$/],
      [(message) => ({ ...message, type: 'buy' }), 'type', /^`beforeSend` returned .*`type` to be one of/],
      [
        (message) => ({ ...message, properties: [] }),
        'properties',
        /^`beforeSend` returned .* got an array$/,
      ],
      [
        (message) => ({ ...message, properties: { geo: Promise.resolve() } }),
        'properties',
        /^`beforeSend` returned .*a Promise, which JSON cannot hold/,
      ],
    ];
    for (const [next, field, text] of cases) {
      change = next;
      expect(() => app.analytics.track({ userId: 'u1', event: 'A' })).toThrow(
        expect.objectContaining({ code: 'INVALID_MESSAGE', field, message: expect.stringMatching(text) }),
      );
    }
  });

  it('is checked like a call: a message that cannot be sent is refused', async () => {
    const { app } = await start((message) => ({ ...message, messageId: 'ü' }));
    expect(() => app.analytics.track({ userId: 'u1', event: 'A' })).toThrow(
      expect.objectContaining({ code: 'INVALID_MESSAGE', field: 'messageId' }),
    );
  });
});

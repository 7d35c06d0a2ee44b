import { describe, expect, it } from '@jest/globals';
import { quickConnections } from '../support/quick-connections.js';
import { eventsIn } from '../support/received-message.js';
import { Stage, webhooksTo } from '../support/stage.js';

const newConnection = quickConnections();

/** Longer than a test takes. */
const NEVER = 3_600_000;

describe('the client', () => {
  const stage = new Stage();

  it('returns the messageId at once: the given one, or a new one each time', async () => {
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: webhooksTo(await stage.receiver()),
    });
    const given = app.analytics.track({ userId: 'u1', event: 'A', messageId: 'my-id' });
    const ids = [1, 2].map(() => app.analytics.track({ userId: 'u1', event: 'A' }));
    expect(given).toBe('my-id');
    expect(new Set(ids).size).toBe(2);
    expect(await app.queue.count()).toBe(0);
  });

  it('flushes when 20 messages wait, and keeps the 21st', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: webhooksTo(receiver),
      flushAfter: NEVER,
    });
    for (let n = 0; n < 21; n++) app.analytics.track({ userId: 'u1', event: 'Counted' });
    await receiver.received(20);
    await app.settled();
    expect(receiver.requests).toHaveLength(20);
    expect(await app.analytics.flush()).toEqual({ queued: 1, refused: 0, pending: 0 });
    await receiver.received(21);
  });

  it('flushes messages that have waited for flushAfter', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: webhooksTo(receiver),
      flushAfter: 50,
    });
    app.analytics.track({ userId: 'u1', event: 'Lonely' });
    await receiver.received(1);
  });

  it('sends each message at once with flushAt 1', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: webhooksTo(receiver),
      flushAt: 1,
      flushAfter: NEVER,
    });
    app.analytics.track({ userId: 'u1', event: 'Alone' });
    await receiver.received(1);
  });

  it('counts each message in exactly one of several overlapping flushes', async () => {
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: webhooksTo(await stage.receiver()),
    });
    app.analytics.track({ userId: 'u1', event: 'First' });
    const first = app.analytics.flush();
    app.analytics.track({ userId: 'u1', event: 'Second' });
    app.analytics.track({ userId: 'u1', event: 'Third' });
    const second = app.analytics.flush();
    const [one, two] = await Promise.all([first, second]);
    expect(one).toEqual({ queued: 1, refused: 0, pending: 0 });
    expect(two.queued).toBeGreaterThanOrEqual(2);
    expect(await app.analytics.flush()).toEqual({ queued: 0, refused: 0, pending: 0 });
  });

  it('refuses a call after the application was closed', async () => {
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: webhooksTo(await stage.receiver()),
    });
    const { analytics } = app;
    await app.close();
    expect(() => analytics.track({ userId: 'u1', event: 'Late' })).toThrow(
      expect.objectContaining({ code: 'ANALYTICS_CLOSED' }),
    );
  });

  it('checks every call and sends none with enabled: false', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: webhooksTo(receiver),
      enabled: false,
    });
    expect(app.analytics.track({ userId: 'u1', event: 'Dropped' })).toMatch(/\S/);
    expect(() => app.analytics.track({ userId: 'u1', event: '' })).toThrow(/`event`/);
    expect(await app.analytics.flush()).toEqual({ queued: 0, refused: 0, pending: 0 });
    expect(await app.queue.count()).toBe(0);
  });

  it('throws in the call if a message cannot be sent, and delivers the messages before and after it', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({ connection: await newConnection(), webhooks: webhooksTo(receiver) });
    const track = (event: string, properties: object): string =>
      app.analytics.track({ userId: 'u1', event, properties });
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    const thrower = {
      toJSON: () => {
        throw new Error('no');
      },
    };
    track('Before', {});
    expect(() => track('Cycle', cycle)).toThrow(expect.objectContaining({ code: 'INVALID_MESSAGE' }));
    expect(() => track('BigInt', { n: 1n })).toThrow(expect.objectContaining({ code: 'INVALID_MESSAGE' }));
    expect(() => track('Thrower', { a: thrower })).toThrow(
      expect.objectContaining({ code: 'INVALID_MESSAGE' }),
    );
    expect(() => track('Large', { text: 'x'.repeat(33_000) })).toThrow(
      expect.objectContaining({ code: 'MESSAGE_TOO_LARGE', limit: 32_768 }),
    );
    track('After', {});
    expect(await app.analytics.flush()).toEqual({ queued: 2, refused: 0, pending: 0 });
    expect(eventsIn(await receiver.received(2))).toEqual(['After', 'Before']);
  });
});

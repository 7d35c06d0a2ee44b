import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { type Route, type Router, StaticRouter } from '../../src/client/router.js';
import { AudiencesService, type FlushResult } from '../../src/index.js';
import type { BeforeSend } from '../../src/client/before-send.js';
import { quickConnections } from '../support/quick-connections.js';
import { Stage, webhooksTo } from '../support/stage.js';
import type { FakeClock } from '../support/fake-clock.js';
import { basic, TrackingServer } from '../ingest/http/tracking-server.js';
import { clientUnderTest, connectionTo } from './client-under-test.js';

const newConnection = quickConnections();

/** An event that violates its schema. */
const BAD = { userId: 'u1', event: 'Bad', properties: {} };
const GOOD = { userId: 'u1', event: 'Good' };

const rules = {
  events: { Bad: z.object({ total: z.number() }) },
  onViolation: 'drop' as const,
  beforeSend: ((message) => {
    if (message.userId === 'u2') throw new Error('Not u2.');
    return message;
  }) satisfies BeforeSend,
};

describe('a refused message', () => {
  const stage = new Stage();

  it('is reported by the flush that is called after it, and by no other flush', async () => {
    const app = await stage.app({
      ...rules,
      connection: await newConnection(),
      webhooks: webhooksTo(await stage.receiver()),
    });
    const { analytics } = app;
    analytics.track(GOOD);
    const healthy = analytics.flush();
    analytics.track(BAD);
    analytics.track({ ...GOOD, userId: 'u2' });
    const refused = analytics.flush();
    const after = analytics.flush();
    expect(await healthy).toMatchObject({ queued: 1, refused: 0, pending: 0 });
    expect(await refused).toMatchObject({ refused: 2, pending: 0 });
    expect(await after).toMatchObject({ refused: 0, pending: 0 });
  });

  it('counts once if several of its destinations are full, whether others take it or not', async () => {
    const down = await stage.receiver({ answer: [503] });
    const full = ['full-1', 'full-2'].map((id) => webhooksTo(down, { id, backlogLimit: 1 }));
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: [...full, webhooksTo(await stage.receiver(), { id: 'healthy' })],
    });
    app.analytics.track(GOOD);
    expect(await app.analytics.flush()).toEqual({ queued: 1, refused: 0, pending: 0 });
    app.analytics.track(GOOD);
    expect(await app.analytics.flush()).toEqual({ queued: 1, refused: 1, pending: 0 });
    app.analytics.track({ ...GOOD, integrations: { healthy: false } });
    expect(await app.analytics.flush()).toEqual({ queued: 0, refused: 1, pending: 0 });
    expect(app.analytics.status().refused).toBe(2);
    expect(app.log.analytics.filter((line) => line.includes('Messages are refused'))).toHaveLength(2);
  });

  it('counts in `status()`, but in no flush of the application, if another program has sent it', async () => {
    const down = await stage.receiver({ answer: [503] });
    const server = await stage.add(
      TrackingServer.start({
        platform: 'Express',
        analytics: {
          ...rules,
          writeKey: 'web',
          connection: await newConnection(),
          webhooks: [
            webhooksTo(down, { id: 'full', backlogLimit: 1 }),
            webhooksTo(await stage.receiver(), { id: 'healthy' }),
          ],
          destinations: {
            encryptionKey: false,
            tenant: ({ userId }) => {
              if (userId === 'u3') throw new Error('Not u3.');
              return undefined;
            },
          },
        },
      }),
    );
    server.analytics.track(GOOD);
    expect(await server.analytics.flush()).toEqual({ queued: 1, refused: 0, pending: 0 });
    const toHealthy = { integrations: { full: false } };
    const batch = [
      { type: 'track', ...BAD, ...toHealthy },
      { type: 'track', ...GOOD, userId: 'u2', ...toHealthy },
      { type: 'track', ...GOOD, userId: 'u3', ...toHealthy },
      { type: 'track', ...GOOD, integrations: { healthy: false } },
      { type: 'track', ...GOOD },
    ];
    expect(await server.post('/v1/batch', { batch }, basic('web'))).toMatchObject({ status: 200 });
    server.analytics.track({ ...GOOD, ...toHealthy });
    expect(await server.analytics.flush()).toMatchObject({ refused: 0, pending: 0 });
    expect(server.analytics.status().refused).toBe(batch.length);
  });

  it('counts in `status()`, but in no flush, if it is a call of an audience', async () => {
    const down = await stage.receiver({ answer: [503] });
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: webhooksTo(down, { id: 'full', backlogLimit: 1 }),
    });
    const audiences = app.context.get(AudiencesService);
    app.analytics.track(GOOD);
    expect(await app.analytics.flush()).toEqual({ queued: 1, refused: 0, pending: 0 });
    await expect(audiences.add('VIP', 'u1')).rejects.toMatchObject({ code: 'MESSAGE_REFUSED' });
    await expect(audiences.sync('VIP', ['u1', 'u2'])).rejects.toMatchObject({ code: 'MESSAGE_REFUSED' });
    expect(app.analytics.status().refused).toBe(3);
    expect(await app.analytics.flush()).toMatchObject({ refused: 0 });
    expect(app.log.analytics.filter((line) => line.includes('Messages are refused'))).toHaveLength(1);
  });
});

describe('a message that is refused after its destinations were looked up', () => {
  /** Looks destinations up for as many milliseconds as the messageId says, and then fails. */
  const failing = (clock: FakeClock): Router => ({
    forwards: false,
    isReady: true,
    leads: () => true,
    route(_source, { messageId }): Route | Promise<Route> {
      const found = { connections: [connectionTo('one')], isFiltered: false };
      if (!/^\d+$/.test(messageId)) return found;
      return new Promise((_resolve, reject) => {
        clock.afterUnlessIdle(Number(messageId), () => {
          reject(new Error('away'));
        });
      });
    },
  });

  it('is reported by the first flush after it, however many flushes wait', async () => {
    const { client, clock, track } = clientUnderTest({ router: failing });
    track('healthy');
    const flushes = [client.flush()];
    track('10', '20');
    flushes.push(client.flush());
    track('5');
    flushes.push(client.flush(), client.flush());
    await clock.pass(50);
    expect(refusedIn(await Promise.all(flushes))).toEqual([0, 2, 1, 0]);
    expect(refusedIn([await client.flush()])).toEqual([0]);
  });

  it('is reported by the next flush that waits for it if an earlier one has returned it as pending', async () => {
    const { client, clock, track } = clientUnderTest({ router: failing });
    track('50');
    const early = client.flush({ timeout: 10 });
    await clock.pass(10);
    expect(await early).toEqual({ queued: 0, refused: 0, pending: 1 });
    const late = client.flush();
    await clock.pass(50);
    expect(await late).toEqual({ queued: 0, refused: 1, pending: 0 });
    track('50');
    await clock.pass(50);
    expect(await client.flush()).toEqual({ queued: 0, refused: 1, pending: 0 });
    expect(client.refused).toBe(2);
  });
});

function refusedIn(results: readonly FlushResult[]): number[] {
  return results.map(({ refused }) => refused);
}

describe('a call for more destinations than the buffer has room for copies', () => {
  const connections = ['one', 'two', 'three'].map((id) => connectionTo(id));

  it('is taken while the buffer is empty, since it would have to wait for ever otherwise', async () => {
    const { client, clock, queue, track, told } = clientUnderTest({
      router: () => new StaticRouter({ connections }),
      options: { maxBufferedBytes: 300 },
    });
    track('a', 'b');
    const flushed = client.flush();
    await clock.pass(10);
    expect(await flushed).toEqual({ queued: 1, refused: 1, pending: 0 });
    expect(connections.map(({ destination }) => queue.messagesFor(destination))).toEqual([
      ['a'],
      ['a'],
      ['a'],
    ]);
    expect(told.refused).toEqual([expect.stringContaining('the buffer is full')]);
  });
});

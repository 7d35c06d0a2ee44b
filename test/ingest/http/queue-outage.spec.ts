import { describe, expect, it } from '@jest/globals';
import RudderAnalytics from '@rudderstack/rudder-sdk-node';
import { Analytics } from '@segment/analytics-node';
import { describeServers } from '../../support/describe-backend.js';
import { quickConnections } from '../../support/quick-connections.js';
import { eventsIn } from '../../support/received-message.js';
import type { Receiver } from '../../support/receiver.js';
import { Stage, webhooksTo } from '../../support/stage.js';
import { until } from '../../support/until.js';
import { basic, type ApiAnswer, type Platform, PLATFORMS, TrackingServer } from './tracking-server.js';

const KEY = 'wk_web';
const TIMEOUT = 60_000;

describe('the tracking API with a full buffer', () => {
  const newConnection = quickConnections();
  const stage = new Stage();

  it('answers 503 to calls for which there is no room, and does not take them', async () => {
    const receiver = await stage.receiver();
    const server = await stage.add(
      TrackingServer.start({
        platform: 'Express',
        analytics: {
          writeKey: KEY,
          webhooks: webhooksTo(receiver),
          connection: await newConnection(),
          maxBufferedBytes: 100,
        },
      }),
    );
    const answer = await server.post('/v1/track', { userId: 'u1', event: 'x' }, basic(KEY));
    expect(answer).toMatchObject({ status: 503, body: { success: false, code: 'QUEUE_UNAVAILABLE' } });
    expect(await server.analytics.flush()).toEqual({ queued: 0, refused: 0, pending: 0 });
  });
});

describeServers('the tracking API with an unreachable queue', (backend) => {
  const stage = new Stage();

  async function start(platform: Platform): Promise<{ server: TrackingServer; receiver: Receiver }> {
    const receiver = await stage.receiver();
    const server = await stage.add(
      TrackingServer.start({
        platform,
        analytics: { writeKey: KEY, webhooks: webhooksTo(receiver), connection: backend.connection },
      }),
    );
    return { server, receiver };
  }

  const track = (server: TrackingServer, event: string): Promise<ApiAnswer> =>
    server.post('/v1/track', { userId: 'u1', event }, basic(KEY));

  /** Resolves once each of these events was delivered at least once. */
  async function arrived(receiver: Receiver, events: string[]): Promise<void> {
    await until(() => {
      const received = eventsIn(receiver.requests);
      return events.every((event) => received.includes(event)) ? true : undefined;
    });
  }

  it.each(PLATFORMS)(
    'answers 503 with the seconds to wait on %s, takes nothing more meanwhile, and loses nothing',
    async (platform) => {
      const { server, receiver } = await start(platform);
      expect((await track(server, 'before')).status).toBe(200);
      backend.server.pause();
      const overdue = await track(server, 'overdue');
      expect(overdue).toMatchObject({ status: 503, body: { success: false, code: 'QUEUE_UNAVAILABLE' } });
      expect(overdue.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
      expect(await track(server, 'not taken')).toMatchObject({ status: 503 });
      expect(await server.analytics.flush({ timeout: 0 })).toMatchObject({ pending: 1 });

      backend.server.resume();
      await server.analytics.flush();
      expect((await track(server, 'after')).status).toBe(200);
      await arrived(receiver, ['before', 'overdue', 'after']);
      expect(eventsIn(receiver.requests)).not.toContain('not taken');
    },
  );

  it("leaves room for the host's own calls before any destinations were looked up", async () => {
    const server = await stage.add(
      TrackingServer.start({
        platform: 'Express',
        analytics: {
          writeKey: KEY,
          connection: backend.connection,
          destinations: { allowPrivateNetwork: true, encryptionKey: false },
          maxBufferedBytes: 200_000,
        },
      }),
    );
    const tracked = { userId: 'u1', event: 'x', properties: { text: 'x'.repeat(1_000) } };
    const send = (count: number): Promise<ApiAnswer> => {
      const batch = Array.from({ length: count }, (_, n) => ({
        ...{ type: 'track', ...tracked },
        // No tenant, a tenant that other requests name as well, or a tenant that no other message names.
        context: [{}, { groupId: 'acme' }, { groupId: `of ${count} ${n}` }][n % 3],
      }));
      return server.post('/v1/batch', { batch }, basic(KEY));
    };
    backend.server.pause();
    const answers = await Promise.all([300, ...Array.from({ length: 20 }, (_, n) => 10 + n)].map(send));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
    for (let n = 0; n < 60; n++) server.analytics.track(tracked);
    expect(await server.analytics.flush({ timeout: 0 })).toMatchObject({ refused: 0 });
  });

  it("leaves room for the host's own calls even if a batch with its destinations takes the whole buffer", async () => {
    const receiver = await stage.receiver();
    const server = await stage.add(
      TrackingServer.start({
        platform: 'Express',
        analytics: {
          writeKey: KEY,
          webhooks: Array.from({ length: 20 }, (_, n) => webhooksTo(receiver, { id: `to-${n}` })),
          connection: backend.connection,
          maxBufferedBytes: 1_000_000,
        },
      }),
    );
    const tracked = { userId: 'u1', event: 'x', properties: { text: 'x'.repeat(1_000) } };
    const batch = Array.from({ length: 100 }, () => ({ type: 'track', ...tracked }));
    backend.server.pause();
    expect(await server.post('/v1/batch', { batch }, basic(KEY))).toMatchObject({ status: 503 });
    for (let n = 0; n < 15; n++) server.analytics.track(tracked);
    expect(await server.analytics.flush({ timeout: 0 })).toEqual({ queued: 0, refused: 0, pending: 115 });
  });

  it('has existing clients send calls again that were answered 503', async () => {
    const { server, receiver } = await start('Fastify');
    expect((await track(server, 'before')).status).toBe(200);
    const segment = new Analytics({ writeKey: KEY, host: server.url });
    const statuses: unknown[] = [];
    segment.on('http_response', ({ status }) => statuses.push(status));
    const rudderStatuses: unknown[] = [];
    const rudder = new RudderAnalytics(KEY, {
      dataPlaneUrl: server.url,
      logLevel: 'none',
      axiosRetryConfig: {
        retries: 20,
        onRetry: (_count: number, error: { response?: { status: number } }) => {
          rudderStatuses.push(error.response?.status);
        },
      },
    });

    backend.server.pause();
    segment.track({ userId: 'u1', event: 'of segment' });
    rudder.track({ userId: 'u1', event: 'of rudder' });
    const sent = Promise.all([segment.closeAndFlush({ timeout: TIMEOUT }), rudder.flush()]);
    await until(() => (statuses.length > 0 && rudderStatuses.length > 0 ? true : undefined));
    backend.server.resume();
    await sent;

    expect([statuses[0], statuses.at(-1), rudderStatuses[0]]).toEqual([503, 200, 503]);
    await arrived(receiver, ['of segment', 'of rudder']);
  });
});

import { describe, expect, it } from '@jest/globals';
import RudderAnalytics from '@rudderstack/rudder-sdk-node';
import { Analytics } from '@segment/analytics-node';
import { messageIn, type ReceivedMessage } from '../../support/received-message.js';
import type { Receiver } from '../../support/receiver.js';
import { BATCHED, BEACON, PAGE_VIEW, type RecordedRequest } from './browser-requests.js';
import { shareServer } from './shared-server.js';
import { PLATFORMS, type TrackingServer } from './tracking-server.js';

const KEY = 'wk_web';
const TIMESTAMP = new Date('2020-05-05T10:00:00.000Z');
const COMMON = { context: { ip: '8.8.8.8' }, timestamp: TIMESTAMP };

describe.each(PLATFORMS)('the tracking API on %s, called by existing clients', (platform) => {
  let receiver: Receiver;
  let server: TrackingServer;

  shareServer(
    {
      platform,
      analytics: {
        writeKey: KEY,
      },
    },
    (shared) => ({ server, receiver } = shared),
  );

  /** Resolves to the delivered messages by type. */
  async function byType(count: number): Promise<Record<string, ReceivedMessage>> {
    const requests = await receiver.received(count);
    return Object.fromEntries(requests.map(messageIn).map((message) => [message.type, message]));
  }

  const common = { version: 1, timestamp: TIMESTAMP.toISOString() };
  const BODIES = {
    identify: { ...common, userId: 'u1', traits: { plan: 'pro' } },
    track: { ...common, userId: 'u1', event: 'Item Purchased', properties: { revenue: 39.95 } },
    page: { ...common, anonymousId: 'a1', name: 'Home', properties: { path: '/' } },
    screen: { ...common, userId: 'u1', name: 'Start', properties: { a: 1 } },
    group: { ...common, userId: 'u1', groupId: 'g1', traits: { name: 'Initech' } },
    alias: { ...common, 'Previous ID': 'a1', 'User ID': 'u1' },
  };

  it('takes all six calls of @segment/analytics-node, with flush and close', async () => {
    const errors: unknown[] = [];
    const client = new Analytics({ writeKey: KEY, host: server.url, flushAt: 4, flushInterval: 60_000 });
    client.on('error', (error) => errors.push(error));
    client.identify({ userId: 'u1', traits: { plan: 'pro' }, ...COMMON });
    client.track({ userId: 'u1', event: 'Item Purchased', properties: { revenue: 39.95 }, ...COMMON });
    client.page({ anonymousId: 'a1', name: 'Home', properties: { path: '/' }, ...COMMON });
    await client.flush();
    expect(Object.keys(await byType(3)).sort()).toEqual(['identify', 'page', 'track']);

    client.screen({ userId: 'u1', name: 'Start', properties: { a: 1 }, ...COMMON });
    client.group({ userId: 'u1', groupId: 'g1', traits: { name: 'Initech' }, ...COMMON });
    client.alias({ userId: 'u1', previousId: 'a1', ...COMMON });
    await client.closeAndFlush();
    const messages = await byType(6);
    expect(messages).toMatchObject(BODIES);
    expect(messages.track?.context).toMatchObject({
      ip: '8.8.8.8',
      library: { name: '@segment/analytics-node' },
    });
    expect(errors).toEqual([]);
  });

  it.each([true, false])(
    'takes all six calls of @rudderstack/rudder-sdk-node, with gzip: %s',
    async (gzip) => {
      const client = new RudderAnalytics(KEY, { dataPlaneUrl: server.url, gzip, flushInterval: 60_000 });
      client.identify({ userId: 'u1', traits: { plan: 'pro' }, ...COMMON });
      client.track({ userId: 'u1', event: 'Item Purchased', properties: { revenue: 39.95 }, ...COMMON });
      client.page({ anonymousId: 'a1', name: 'Home', properties: { path: '/' }, ...COMMON });
      client.screen({ userId: 'u1', name: 'Start', properties: { a: 1 }, ...COMMON });
      client.group({ userId: 'u1', groupId: 'g1', traits: { name: 'Initech' }, ...COMMON });
      client.alias({ userId: 'u1', previousId: 'a1', ...COMMON });
      await client.flush();
      expect(await byType(6)).toMatchObject(BODIES);
    },
  );

  it.each<[string, RecordedRequest, object]>([
    ['a page view', PAGE_VIEW, { page: { anonymousId: '3e5ba2ab', properties: { path: '/shoes' } } }],
    ['a beacon', BEACON, { track: { anonymousId: '3e5ba2ab', event: 'Tab Closed' } }],
    [
      'a batch',
      BATCHED,
      {
        identify: { userId: '97980cfea0067', traits: { plan: 'pro' } },
        track: { userId: '97980cfea0067', event: 'Shoe Liked' },
      },
    ],
  ])('takes %s of the browser library', async (_kind, { path, headers, body }, expected) => {
    const answer = await server.post(path, body.replaceAll('WRITE_KEY', KEY), {
      origin: 'https://shop.example',
      ...headers,
    });
    expect(answer).toMatchObject({ status: 200, body: { success: true } });
    expect(await byType(Object.keys(expected).length)).toMatchObject(expected);
  });
});

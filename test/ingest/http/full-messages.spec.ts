import { describe, expect, it } from '@jest/globals';
import { DeliveriesService } from '../../../src/index.js';
import { quickConnections } from '../../support/quick-connections.js';
import { messageIn } from '../../support/received-message.js';
import { Stage, webhooksTo } from '../../support/stage.js';
import { until } from '../../support/until.js';
import { basic, PLATFORMS, TrackingServer } from './tracking-server.js';

const KEY = 'wk_web';
const MAX_MESSAGE_BYTES = 32_768;
/** Bytes of a message that still has room for the group, which is never left out. */
const FULL = MAX_MESSAGE_BYTES - '"groupId":"acme",'.length;
/** Returns a message of a number of bytes, as a client measures it. */
function messageOf(bytes: number): object {
  const message = {
    type: 'track',
    messageId: `m-${bytes}`,
    timestamp: '2020-05-05T10:00:00.000Z',
    context: { locale: 'de' },
    integrations: {},
    userId: 'u1',
    event: 'Opened',
    properties: { text: '' },
  };
  const rest = JSON.stringify(message).length;
  return { ...message, properties: { text: 'x'.repeat(bytes - rest) } };
}

describe.each(PLATFORMS)('a message of 32 KB from a source of a tenant on %s', (platform) => {
  const stage = new Stage();
  const newConnection = quickConnections();

  it('is not refused because of the name of the tenant, which its sender cannot know', async () => {
    const receiver = await stage.receiver();
    const server = await stage.add(
      TrackingServer.start({
        platform,
        analytics: {
          sources: [{ name: 'web', writeKey: KEY, tenant: 'acme'.repeat(10) }],
          webhooks: webhooksTo(receiver),
          connection: await newConnection(),
        },
      }),
    );
    const answer = await server.post('/v1/track', messageOf(MAX_MESSAGE_BYTES), basic(KEY));
    expect(answer).toMatchObject({ status: 200, body: { success: true } });
    const [request] = await receiver.received(1);
    expect(request && messageIn(request).context).toMatchObject({ groupId: 'acme'.repeat(10) });
    const over = await server.post('/v1/track', messageOf(MAX_MESSAGE_BYTES + 100), basic(KEY));
    expect(over).toMatchObject({ status: 400, body: { code: 'MESSAGE_TOO_LARGE' } });
  });
});

describe.each(PLATFORMS)('a message of nearly 32 KB that passes two applications on %s', (platform) => {
  const stage = new Stage();
  const newConnection = quickConnections();

  it('is not refused by either for what the first adds to it, which is left out if there is no room', async () => {
    const receiver = await stage.receiver();
    const last = await stage.add(
      TrackingServer.start({
        platform,
        analytics: {
          writeKey: KEY,
          webhooks: webhooksTo(receiver),
          connection: await newConnection(),
          context: { region: 'eu' },
        },
      }),
    );
    const first = await stage.add(
      TrackingServer.start({
        platform,
        analytics: {
          writeKey: KEY,
          endpoint: last.url,
          connection: await newConnection(),
          context: { app: { name: 'Shop' }, groupId: 'acme' },
        },
      }),
    );
    const send = (bytes: number): Promise<{ status: number }> =>
      first.post('/v1/track', messageOf(bytes), basic(KEY));
    for (const bytes of [FULL - 1_000, FULL]) {
      expect(await send(bytes)).toMatchObject({ status: 200 });
    }
    expect(await send(FULL + 1)).toMatchObject({
      status: 400,
      body: { code: 'MESSAGE_TOO_LARGE' },
    });

    const failed = await until(async () => {
      const failures = await first.app.get(DeliveriesService).failed();
      return failures.length + receiver.requests.length === 2 ? failures : undefined;
    });
    expect(failed).toEqual([]);
    const messages = receiver.requests.map(messageIn);
    const contextOf = (bytes: number): unknown =>
      messages.find(({ messageId }) => messageId === `m-${bytes}`)?.context;
    const added = { app: { name: 'Shop' }, groupId: 'acme', region: 'eu', ip: expect.any(String) };
    expect(contextOf(FULL - 1_000)).toMatchObject(added);
    expect(contextOf(FULL)).toMatchObject({ groupId: 'acme', region: 'eu', ip: expect.any(String) });
    expect(contextOf(FULL)).not.toHaveProperty('app');
  });
});

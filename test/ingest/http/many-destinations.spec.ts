import { describe, expect, it } from '@jest/globals';
import { quickConnections } from '../../support/quick-connections.js';
import { messageIn } from '../../support/received-message.js';
import { Stage, webhooksTo } from '../../support/stage.js';
import { basic, PLATFORMS, TrackingServer } from './tracking-server.js';

const KEY = 'wk_web';
const MEBIBYTE = 2 ** 20;
/** Attempts after which the client gives up. */
const MAX_ATTEMPTS = 4;
const TEXT = 'x'.repeat(30_000);
/** Ids of messages that have 490 KB together. */
const IDS = Array.from({ length: 16 }, (_, n) => `m-${n + 10}`);
const BATCH = IDS.map((messageId) => ({
  ...{ type: 'track', userId: 'u1', event: 'Large', messageId },
  properties: { TEXT },
}));

describe.each(PLATFORMS)('a large batch for many destinations on %s', (platform) => {
  const newConnection = quickConnections();
  const stage = new Stage();

  it.each([
    ['half of the buffer', 10],
    ['the whole buffer', 20],
  ])('reaches each destination once, even if it takes more than %s in all', async (_case, count) => {
    const receiver = await stage.receiver();
    const paths = Array.from({ length: count }, (_, n) => `/${n}`);
    const server = await stage.add(
      TrackingServer.start({
        platform,
        analytics: {
          writeKey: KEY,
          webhooks: paths.map((path) => ({ ...webhooksTo([]), id: `to${path}`, urls: [receiver.url(path)] })),
          connection: await newConnection(),
          maxBufferedBytes: 8 * MEBIBYTE,
        },
      }),
    );
    const statuses: number[] = [];
    do {
      statuses.push((await server.post('/v1/batch', { batch: BATCH }, basic(KEY))).status);
      await server.analytics.flush();
    } while (statuses.at(-1) === 503 && statuses.length < MAX_ATTEMPTS);
    expect(statuses.at(-1)).toBe(200);

    await receiver.received(count * IDS.length);
    const received = receiver.requests.map((request) => `${request.url} ${messageIn(request).messageId}`);
    const expected = paths.flatMap((path) => IDS.map((id) => `${path} ${id}`));
    expect(received.sort()).toEqual(expected.sort());
  });
});

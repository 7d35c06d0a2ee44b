import { describe, expect, it } from '@jest/globals';
import { DeliveriesService, type StandardSchema } from '../../../src/index.js';
import { quickConnections } from '../../support/quick-connections.js';
import { messageIn } from '../../support/received-message.js';
import { Stage, webhooksTo } from '../../support/stage.js';
import { PLATFORMS, TrackingServer } from './tracking-server.js';

const COUNT = 100;
/** Number of wrong messages: as many as an answer lists. */
const WRONG = 20;

const nothingFits: StandardSchema = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: () => ({ issues: [{ message: 'wrong', path: ['revenue'] }] }),
  },
};

describe.each(PLATFORMS)('a batch of which the next application on %s refuses some messages', (platform) => {
  const stage = new Stage();
  const newConnection = quickConnections();

  it('has only the refused messages fail', async () => {
    const receiver = await stage.receiver();
    const next = await stage.add(
      TrackingServer.start({
        platform,
        analytics: {
          connection: await newConnection(),
          webhooks: webhooksTo(receiver),
          events: { Ordered: nothingFits },
          onViolation: 'throw',
        },
      }),
    );
    const app = await stage.app({
      connection: await newConnection(),
      endpoint: next.url,
      flushAt: COUNT,
    });
    const ids: Record<'Ordered' | 'Viewed', string[]> = { Ordered: [], Viewed: [] };
    for (let n = 0; n < COUNT; n++) {
      const event = n % 2 === 1 && n < 2 * WRONG ? 'Ordered' : 'Viewed';
      ids[event].push(app.analytics.track({ userId: 'u1', event, messageId: `message-${n}` }));
    }
    expect(ids.Ordered).toHaveLength(WRONG);
    await app.analytics.flush();
    await app.settled();
    const received = (await receiver.received(COUNT - WRONG)).map((request) => messageIn(request).messageId);
    expect(received.sort()).toEqual(ids.Viewed.sort());
    const failed = await app.context.get(DeliveriesService).failed({ end: COUNT });
    expect(failed.map(({ messageId }) => messageId).sort()).toEqual(ids.Ordered.sort());
  });
});

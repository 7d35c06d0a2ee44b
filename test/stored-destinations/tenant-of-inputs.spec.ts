import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { AnalyticsService, DestinationsService, Track } from '../../src/index.js';
import { basic, PLATFORMS, TrackingServer } from '../ingest/http/tracking-server.js';
import { eventsIn } from '../support/received-message.js';
import { Receiver } from '../support/receiver.js';
import { quickConnections } from '../support/quick-connections.js';

const newConnection = quickConnections();

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
  });
  afterEach(async () => {
    await server.close();
    await receiver.close();
  });

  it('is in a message of the tracking API, unless its write key is bound to a tenant', async () => {
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

  it('is an option of decorators', async () => {
    const orders = server.app.get(Orders);
    orders.place('acme');
    orders.place('other');
    orders.place('');
    orders.refund();
    expect(eventsIn(await receiver.received(2))).toEqual(['decorated', 'fixed']);
    expect(await server.log.line(/@Track\("decorated"\)/)).toContain('`tenant`');
  });

  it('is refused where it cannot be one', () => {
    const analytics = server.app.get(AnalyticsService);
    for (const id of ['', 'x'.repeat(201), 'a\u0000']) {
      expect(() => analytics.tenant(id)).toThrow(
        expect.objectContaining({ code: 'INVALID_MESSAGE', field: 'tenant' }),
      );
    }
  });
});

import { isIP } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import { basic, PLATFORMS, TrackingServer } from '../ingest/http/tracking-server.js';
import { quickConnections } from '../support/quick-connections.js';
import { messageIn } from '../support/received-message.js';
import { Stage, webhooksTo } from '../support/stage.js';

@Controller()
class PlainController {
  @Get('plain')
  plain(): string {
    return 'plain';
  }
}

describe.each(PLATFORMS)('an application on %s whose function for trusted proxies throws', (platform) => {
  const stage = new Stage();
  const newConnection = quickConnections();

  it('takes calls without an address, and serves its own routes', async () => {
    const receiver = await stage.receiver();
    const server = await stage.add(
      TrackingServer.start({
        platform,
        analytics: { writeKey: 'wk_test', webhooks: webhooksTo(receiver), connection: await newConnection() },
        host: { controllers: [PlainController] },
        trustProxy: (address) => {
          if (isIP(address) === 0) throw new Error('That is no address.');
          return true;
        },
      }),
    );
    const forwarded = { 'x-forwarded-for': '203.0.113.9, unknown' };
    const call = JSON.stringify({ userId: 'u1', event: 'Opened' });
    expect(await server.post('/v1/track', call, { ...basic('wk_test'), ...forwarded })).toMatchObject({
      status: 200,
    });
    expect(await server.send('/plain', { headers: forwarded })).toMatchObject({ status: 200 });
    const [message] = (await receiver.received(1)).map(messageIn);
    expect(message).toMatchObject({ event: 'Opened' });
    expect(message?.context).not.toHaveProperty('ip');
  });
});

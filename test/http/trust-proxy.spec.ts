import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { isIP } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { AnalyticsService, Track } from '../../src/index.js';
import { basic, PLATFORMS, type Platform, TrackingServer } from '../ingest/http/tracking-server.js';
import { quickConnections } from '../support/quick-connections.js';
import { messageIn, type ReceivedMessage } from '../support/received-message.js';
import type { Receiver } from '../support/receiver.js';
import { Stage, webhooksTo } from '../support/stage.js';

@Controller()
class ShopController {
  constructor(private readonly analytics: AnalyticsService) {}

  @Get('plain')
  plain(): string {
    return 'plain';
  }

  @Get('decorated')
  @Track('Opened', { userId: 'u1' })
  decorated(): string {
    this.analytics.track({ event: 'Noted', userId: 'u1' });
    return 'decorated';
  }
}

/** Throws for text in the header that is not an address. */
function onlyAddresses(address: string): boolean {
  if (isIP(address) === 0) throw new Error('That is no address.');
  return true;
}

function nobody(): never {
  throw new Error('The list of proxies has not been read.');
}

const FORWARDED = { 'x-forwarded-for': '203.0.113.9, unknown' };
const CALL = JSON.stringify({ userId: 'u1', event: 'Opened' });

const stage = new Stage();
const newConnection = quickConnections();

async function start(
  platform: Platform,
  trustProxy: (address: string) => boolean,
): Promise<{ server: TrackingServer; receiver: Receiver }> {
  const receiver = await stage.receiver();
  const server = await stage.add(
    TrackingServer.start({
      platform,
      analytics: { writeKey: 'wk_test', webhooks: webhooksTo(receiver), connection: await newConnection() },
      host: { controllers: [ShopController] },
      trustProxy,
    }),
  );
  return { server, receiver };
}

/** Returns the messages that a receiver got, by event. */
async function messagesOf(receiver: Receiver, count: number): Promise<Map<string, ReceivedMessage>> {
  const messages = (await receiver.received(count)).map(messageIn);
  return new Map(messages.map((message) => [message.event ?? '', message]));
}

describe.each(PLATFORMS)('an application on %s whose function for trusted proxies throws', (platform) => {
  it('takes calls without an address, and serves its own routes', async () => {
    const { server, receiver } = await start(platform, onlyAddresses);
    expect(await server.post('/v1/track', CALL, { ...basic('wk_test'), ...FORWARDED })).toMatchObject({
      status: 200,
    });
    expect(await server.send('/plain', { headers: FORWARDED })).toMatchObject({ status: 200 });
    const opened = (await messagesOf(receiver, 1)).get('Opened');
    expect(opened?.context).not.toHaveProperty('ip');
  });

  it('runs its decorated handlers, whose messages carry everything of the request but the address', async () => {
    const { server, receiver } = await start(platform, onlyAddresses);
    const headers = { ...FORWARDED, 'user-agent': 'Browser/1.0' };
    expect(await server.send('/decorated?from=mail', { headers })).toMatchObject({
      status: 200,
      body: 'decorated',
    });
    await server.analytics.flush();
    const messages = await messagesOf(receiver, 2);
    for (const event of ['Opened', 'Noted']) {
      const context = messages.get(event)?.context;
      expect(context).toMatchObject({
        userAgent: 'Browser/1.0',
        page: { url: `${server.url}/decorated?from=mail`, path: '/decorated', search: '?from=mail' },
      });
      expect(context).not.toHaveProperty('ip');
    }
  });

  it('tracks in a decorated handler even if the function throws for every address', async () => {
    const { server, receiver } = await start(platform, nobody);
    const headers = { ...FORWARDED, 'x-forwarded-host': 'shop.example' };
    expect(await server.send('/decorated', { headers })).toMatchObject({ status: 200, body: 'decorated' });
    await server.analytics.flush();
    const messages = await messagesOf(receiver, 2);
    for (const event of ['Opened', 'Noted']) {
      const context = messages.get(event)?.context;
      expect(context).toMatchObject({ page: { path: '/decorated' } });
      expect(context).not.toHaveProperty('ip');
      expect(context).not.toHaveProperty('page.url');
    }
  });
});

describe('an application on Express with a server of its own', () => {
  it('takes calls without an address if its function for trusted proxies throws', async () => {
    const { server, receiver } = await start('Express', onlyAddresses);
    const { httpAdapter } = server.app.get(HttpAdapterHost);
    const own = createServer(httpAdapter.getInstance<RequestListener>());
    await once(own.listen(0, '127.0.0.1'), 'listening');
    const address = own.address();
    if (typeof address !== 'object' || address === null) throw new Error('The server does not listen');
    const answer = await fetch(`http://127.0.0.1:${address.port}/v1/track`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...basic('wk_test'), ...FORWARDED },
      body: CALL,
    });
    own.closeAllConnections();
    own.close();
    expect(answer.status).toBe(200);
    expect((await messagesOf(receiver, 1)).get('Opened')?.context).not.toHaveProperty('ip');
  });
});

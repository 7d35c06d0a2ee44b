import { expect, it } from '@jest/globals';
import { Body, Controller, Post } from '@nestjs/common';
import { Track } from '../../../src/index.js';
import { Receiver } from '../../support/receiver.js';
import { DecoratedApps } from './support/decorated-app.js';

const apps = DecoratedApps.forThisFile();

@Controller()
class OrdersController {
  @Post('orders')
  @Track('Order Completed', {
    source: ({ args: [order] }) => order.source,
    properties: ({ result }) => ({ orderId: result.id }),
  })
  create(@Body() order: { source?: string }): { id: string } {
    return { id: `o-${order.source ?? 'none'}` };
  }
}

it('delivers the event of a decorated handler with the context of its request, for the source that the decorator names', async () => {
  const server = await Receiver.start();
  const web = await Receiver.start();
  const app = await apps.start({
    controllers: [OrdersController],
    analytics: {
      writeKey: undefined,
      sources: [
        { name: 'server', writeKey: 'wk_server' },
        { name: 'web', writeKey: 'wk_web' },
      ],
      webhooks: [
        { id: 'server', urls: [server.url()], sources: ['server'], allowPrivateNetwork: true },
        { id: 'web', urls: [web.url()], sources: ['web'], allowPrivateNetwork: true },
      ],
      flushAt: 1,
    },
  });
  const order = async (body: object): Promise<void> => {
    await app.request('/orders', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-anonymous-id': 'a1', 'user-agent': 'Firefox' },
      body: JSON.stringify(body),
    });
  };
  await order({});
  await order({ source: 'web' });
  const bodies = await Promise.all(
    [server, web].map(async (receiver) => {
      const [request] = await receiver.received(1);
      await receiver.close();
      const body: unknown = JSON.parse(request?.body.toString() ?? '');
      return body;
    }),
  );
  const context = expect.objectContaining({ ip: '127.0.0.1', userAgent: 'Firefox' });
  expect(bodies).toEqual([
    expect.objectContaining({ anonymousId: 'a1', properties: { orderId: 'o-none' }, context }),
    expect.objectContaining({ anonymousId: 'a1', properties: { orderId: 'o-web' }, context }),
  ]);
});

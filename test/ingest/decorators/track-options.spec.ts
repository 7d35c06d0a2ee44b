import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Group, Identify, Page, Screen, Track } from '../../../src/index.js';
import { DecoratedApps } from './support/decorated-app.js';

const apps = DecoratedApps.forThisFile();

interface Order {
  userId: string;
  total: number;
}

@Injectable()
class Orders {
  @Track('Order Tried', {
    on: 'settled',
    userId: 'u1',
    properties: ({ error, result }) => ({ error, result }),
  })
  @Track('Order Completed', { userId: 'u1', properties: ({ result }) => ({ result }) })
  @Track('Order Failed', {
    on: 'failure',
    userId: 'u1',
    properties: ({ error }) => ({ reason: error instanceof Error ? error.message : 'unknown' }),
  })
  create({ total }: Order): number {
    if (total < 0) throw new Error('negative');
    return total;
  }

  @Track('Large Order', { userId: 'u1', when: ({ args: [order] }) => order.total > 100 })
  @Track('Never', { userId: 'u1', when: false })
  check(order: Order): Order {
    return order;
  }

  @Track('Everything', {
    userId: ({ args: [order] }) => order.userId,
    anonymousId: ({ args: [order] }) => `anonymous ${order.userId}`,
    properties: ({ result }) => ({ total: result.total }),
    context: ({ args: [order] }) => ({ campaign: order.total }),
    timestamp: () => new Date('2026-03-04T05:06:07.089Z'),
    integrations: () => ({ All: false }),
    source: () => 'web',
  })
  everything(order: Order): Promise<Order> {
    return Promise.resolve(order);
  }

  @Identify({ userId: 'u1', traits: { plan: 'pro' } })
  @Page({ userId: 'u1', name: 'Orders', category: 'shop', properties: { url: '/orders' } })
  @Screen({ userId: 'u1', name: ({ args: [name] }) => name, properties: { size: 'small' } })
  @Group({ anonymousId: 'a1', groupId: ({ result }) => result, traits: { plan: 'team' } })
  siblings(name: string): string {
    return `group of ${name}`;
  }
}

async function start(): Promise<{ orders: Orders; recorded: () => unknown[] }> {
  const app = await apps.start({
    providers: [Orders],
    analytics: {
      writeKey: undefined,
      sources: [
        { name: 'server', writeKey: 'wk_server' },
        { name: 'web', writeKey: 'wk_web' },
      ],
    },
  });
  const recorded = (): unknown[] =>
    app.messages.map((message) =>
      message.type === 'track' ? { event: message.event, properties: message.properties } : message,
    );
  return { orders: app.get(Orders), recorded };
}

describe('the options of a decorator', () => {
  it('record calls that succeed, fail, or both', async () => {
    const { orders, recorded } = await start();
    orders.create({ userId: 'u1', total: 1 });
    expect(recorded()).toEqual([
      { event: 'Order Tried', properties: { result: 1 } },
      { event: 'Order Completed', properties: { result: 1 } },
    ]);
    expect(() => orders.create({ userId: 'u1', total: -1 })).toThrow('negative');
    expect(recorded().slice(2)).toEqual([
      { event: 'Order Tried', properties: { error: { name: 'Error', message: 'negative' } } },
      { event: 'Order Failed', properties: { reason: 'negative' } },
    ]);
  });

  it('record calls under a condition', async () => {
    const { orders, recorded } = await start();
    orders.check({ userId: 'u1', total: 100 });
    orders.check({ userId: 'u1', total: 101 });
    expect(recorded()).toEqual([{ event: 'Large Order', properties: {} }]);
  });

  it('may each be a function of the call', async () => {
    const app = await apps.start({
      providers: [Orders],
      analytics: {
        writeKey: undefined,
        sources: [
          { name: 'server', writeKey: 'wk_server' },
          { name: 'web', writeKey: 'wk_web' },
        ],
      },
    });
    await app.get(Orders).everything({ userId: 'u7', total: 9 });
    expect(app.messages).toEqual([
      expect.objectContaining({
        event: 'Everything',
        userId: 'u7',
        anonymousId: 'anonymous u7',
        properties: { total: 9 },
        context: expect.objectContaining({ campaign: 9 }),
        timestamp: '2026-03-04T05:06:07.089Z',
        integrations: { All: false },
      }),
    ]);
  });

  it('fit the kind of call that each decorator records', async () => {
    const { orders, recorded } = await start();
    orders.siblings('Ann');
    expect(recorded()).toEqual([
      expect.objectContaining({ type: 'identify', userId: 'u1', traits: { plan: 'pro' } }),
      expect.objectContaining({
        type: 'page',
        name: 'Orders',
        category: 'shop',
        properties: { url: '/orders' },
      }),
      expect.objectContaining({ type: 'screen', name: 'Ann', properties: { size: 'small' } }),
      expect.objectContaining({
        type: 'group',
        anonymousId: 'a1',
        groupId: 'group of Ann',
        traits: { plan: 'team' },
      }),
    ]);
  });
});

import { describe, expect, it } from '@jest/globals';
import { Controller, Param, Post } from '@nestjs/common';
import { Track } from '../../../src/index.js';
import type { DestinationStore } from '../../../src/options/destination-store.js';
import { SilentStore } from '../../stored-destinations/silent-store.js';
import { heldBytes } from '../../support/heap.js';
import { quickConnections } from '../../support/quick-connections.js';
import { Stage } from '../../support/stage.js';
import { until } from '../../support/until.js';
import { TrackingServer } from '../http/tracking-server.js';

const newConnection = quickConnections();
const REQUESTS = 50;

@Controller('orders')
class OrdersController {
  @Post(':tenant')
  @Track('Order Completed', { userId: 'u1', tenant: ({ result }) => result })
  create(@Param('tenant') tenant: string): string {
    return tenant;
  }
}

/** A store in which each tenant has a destination. */
const ALL_TENANTS: DestinationStore = {
  findByTenant: (tenant) =>
    Promise.resolve(tenant === undefined ? [] : [{ id: tenant, tenant, urls: ['https://example.com'] }]),
  findById: () => Promise.resolve(undefined),
};

describe('requests whose calls are not in the queue yet', () => {
  const stage = new Stage();

  async function start(store: DestinationStore): Promise<TrackingServer> {
    return stage.add(
      TrackingServer.start({
        platform: 'Express',
        host: { controllers: [OrdersController] },
        analytics: {
          connection: await newConnection(),
          worker: false,
          destinations: { store },
          flushAfter: 600_000,
          shutdownTimeout: 500,
        },
      }),
    );
  }

  /** Posts an order for each of the tenants. */
  async function post(server: TrackingServer, order: object): Promise<void> {
    for (let n = 0; n < REQUESTS; n++) await server.post(`/orders/tenant-${n}`, order);
  }

  async function pending(server: TrackingServer): Promise<number> {
    return (await server.analytics.flush({ timeout: 0 })).pending;
  }

  it('are not kept in memory while their destinations are looked up', async () => {
    const server = await start(new SilentStore());
    await post(server, {});
    const before = await heldBytes();
    await post(server, { text: 'x'.repeat(90_000) });
    const held = (await heldBytes()) - before;
    expect(await pending(server)).toBe(2 * REQUESTS);
    expect(held).toBeLessThan(2_000_000);
  });

  it('are not kept in memory while their calls wait to be batched', async () => {
    const server = await start(ALL_TENANTS);
    await post(server, {});
    await until(async () => (await pending(server)) === 0 || undefined);
    const before = await heldBytes();
    await post(server, { text: 'x'.repeat(90_000) });
    const held = (await heldBytes()) - before;
    expect(server.analytics.status().buffered.messages).toBe(REQUESTS);
    expect(held).toBeLessThan(2_000_000);
  });
});

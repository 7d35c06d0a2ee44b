import { describe, expect, it } from '@jest/globals';
import { firstValueFrom } from 'rxjs';
import { DeliveriesService, DestinationsService } from '../../../src/index.js';
import { MemoryDestinationStore } from '../../stored-destinations/memory-destination-store.js';
import { quickConnections } from '../../support/quick-connections.js';
import { eventsIn } from '../../support/received-message.js';
import { Stage } from '../../support/stage.js';
import { until } from '../../support/until.js';
import { type ApiAnswer, basic, PLATFORMS, TrackingServer } from './tracking-server.js';

const newConnection = quickConnections();

/** A store in which the destinations of damaged tenants cannot be looked up until it is repaired. */
class DamagedStore extends MemoryDestinationStore {
  isRepaired = false;
  /** How often each damaged tenant was looked up. */
  readonly asked = new Map<string, number>();

  override findByTenant(tenant: string | undefined): ReturnType<MemoryDestinationStore['findByTenant']> {
    if (tenant?.startsWith('damaged') !== true || this.isRepaired) return super.findByTenant(tenant);
    this.asked.set(tenant, (this.asked.get(tenant) ?? 0) + 1);
    return Promise.reject(new Error('invalid byte sequence'));
  }

  askedAtLeast(times: number): string[] {
    return [...this.asked].filter(([, asked]) => asked >= times).map(([tenant]) => tenant);
  }
}

/** A store whose look-ups take as long as those of a slow database. */
class SlowStore extends MemoryDestinationStore {
  /** Tenants that were looked up. */
  readonly asked = new Set<string | undefined>();

  override async findByTenant(
    tenant: string | undefined,
  ): ReturnType<MemoryDestinationStore['findByTenant']> {
    this.asked.add(tenant);
    await new Promise((resolve) => setTimeout(resolve, 200));
    return super.findByTenant(tenant);
  }
}

describe('the tracking API with tenants whose destinations cannot be looked up', () => {
  const stage = new Stage();

  it('keeps the messages of a few such tenants, and looks up only those tenants', async () => {
    const store = new DamagedStore();
    const server = await stage.add(
      TrackingServer.start({
        platform: 'Express',
        analytics: {
          sources: [{ name: 'web', writeKey: 'web' }],
          destinations: { store, allowPrivateNetwork: true },
          connection: await newConnection(),
        },
      }),
    );
    const send = (groupId: string): Promise<ApiAnswer> => {
      const message = { type: 'track', userId: 'u1', event: 'Tracked', context: { groupId } };
      return server.post('/v1/batch', { batch: [message] }, basic('web'));
    };
    const tenants = Array.from({ length: 30 }, (_, n) => `damaged-${n}`);
    for (const { status } of await Promise.all(tenants.map(send))) expect(status).toBe(503);
    expect((await server.analytics.flush({ timeout: 0 })).pending).toBe(20);
    store.asked.clear();
    await until(() => store.askedAtLeast(3).length >= 20 || undefined);
    expect(store.askedAtLeast(2)).toHaveLength(20);
    expect(await send('healthy')).toMatchObject({ status: 200 });

    store.isRepaired = true;
    expect(await send('damaged-0')).toMatchObject({ status: 200 });
    expect(await server.analytics.flush()).toMatchObject({ pending: 0 });
  });

  it('keeps nothing of a request that names more such tenants than there is room for', async () => {
    const store = new DamagedStore();
    const server = await stage.add(
      TrackingServer.start({
        platform: 'Fastify',
        analytics: {
          sources: [{ name: 'web', writeKey: 'web' }],
          destinations: { store, allowPrivateNetwork: true },
          connection: await newConnection(),
          maxBufferedBytes: 100_000,
        },
      }),
    );
    const send = (...tenants: string[]): Promise<ApiAnswer> => {
      const batch = tenants.map((groupId) => ({
        ...{ type: 'track', userId: 'u1', event: 'Tracked' },
        context: { groupId },
      }));
      return server.post('/v1/batch', { batch }, basic('web'));
    };
    const tenants = Array.from({ length: 1_000 }, (_, n) => `damaged-${n}`);
    expect(await send(...tenants)).toMatchObject({ status: 503, body: { code: 'QUEUE_UNAVAILABLE' } });
    expect(await server.analytics.flush({ timeout: 0 })).toMatchObject({ pending: 0 });
    expect(await send('healthy')).toMatchObject({ status: 200 });

    // A tenant whose look-up goes on is looked up again and again.
    expect(await send('damaged-marker')).toMatchObject({ status: 503 });
    expect(store.askedAtLeast(5)).toEqual(['damaged-marker']);
  });

  it('answers 503 to requests for such a tenant alone, takes them as a whole later, and loses nothing', async () => {
    const receiver = await stage.receiver();
    const store = new DamagedStore();
    for (const tenant of ['acme', 'damaged']) {
      const times = { createdAt: 0, updatedAt: 0, version: 1 };
      await store.insert({ id: tenant, tenant, urls: [receiver.url()], ...times }, 1);
    }
    const server = await stage.add(
      TrackingServer.start({
        platform: 'Fastify',
        analytics: {
          sources: ['web', 'app'].map((name) => ({ name, writeKey: name })),
          destinations: { store, allowPrivateNetwork: true },
          connection: await newConnection(),
        },
      }),
    );
    const of = (tenant: string, event: string): object => ({
      ...{ type: 'track', userId: 'u1', event },
      ...{ context: { groupId: tenant } },
    });
    const send = (key: string, ...batch: object[]): Promise<ApiAnswer> =>
      server.post('/v1/batch', { batch }, basic(key));

    const overdue = send('web', of('damaged', 'overdue'));
    await until(async () => ((await server.analytics.flush({ timeout: 0 })).pending > 0 ? true : undefined));
    let isOver = false;
    void overdue.then(() => (isOver = true));
    expect(await send('app', of('acme', 'meanwhile'))).toMatchObject({ status: 200 });
    expect(isOver).toBe(false);
    expect(await overdue).toMatchObject({ status: 503, body: { code: 'QUEUE_UNAVAILABLE' } });

    const mixed = [of('acme', 'with another'), of('damaged', 'with another')];
    expect(await send('web', ...mixed)).toMatchObject({ status: 503 });
    expect(await send('app', of('acme', 'later'))).toMatchObject({ status: 200 });
    expect(await send('app', { type: 'track', userId: 'u1', event: 'of nobody' })).toMatchObject({
      status: 200,
    });
    expect(await server.analytics.flush({ timeout: 0 })).toMatchObject({ pending: 1 });

    store.isRepaired = true;
    await server.analytics.flush();
    expect(await send('web', ...mixed)).toMatchObject({ status: 200 });
    expect(eventsIn(await receiver.received(5)).sort()).toEqual(
      ['later', 'meanwhile', 'overdue', 'with another', 'with another'].sort(),
    );
  });
});

describe('the tracking API with a sender that names thousands of tenants', () => {
  const stage = new Stage();

  it('does not make others wait until the destinations of all these tenants are looked up', async () => {
    const receiver = await stage.receiver();
    const store = new SlowStore();
    for (const tenant of ['acme', 'host']) {
      const times = { createdAt: 0, updatedAt: 0, version: 1 };
      await store.insert({ id: tenant, tenant, urls: [receiver.url()], ...times }, 1);
    }
    const server = await stage.add(
      TrackingServer.start({
        platform: 'Express',
        analytics: {
          sources: ['web', 'app'].map((name) => ({ name, writeKey: name })),
          destinations: { store, allowPrivateNetwork: true },
          connection: await newConnection(),
        },
      }),
    );
    const send = (key: string, ...tenants: string[]): Promise<ApiAnswer> => {
      const batch = tenants.map((groupId) => ({
        ...{ type: 'track', userId: 'u1', event: groupId },
        context: { groupId },
      }));
      return server.post('/v1/batch', { batch }, basic(key));
    };
    const pending = async (): Promise<number> => (await server.analytics.flush({ timeout: 0 })).pending;

    const flood = send('web', ...Array.from({ length: 2_500 }, (_, n) => `invented-${n}`));
    await until(async () => ((await pending()) > 2_000 ? true : undefined));
    server.analytics.tenant('host').track({ userId: 'u1', event: 'host' });
    expect(await send('app', 'acme')).toMatchObject({ status: 200 });
    expect(eventsIn(await receiver.received(2)).sort()).toEqual(['acme', 'host']);

    expect(await flood).toMatchObject({ status: 503 });
    expect(await server.analytics.flush()).toMatchObject({ pending: 0 });
    // Tenants that no request waits for any longer are not looked up.
    expect(store.asked.size).toBeLessThan(2_000);
  });
});

describe.each(PLATFORMS)('a tenant that registers the tracking API itself as a webhook on %s', (platform) => {
  const stage = new Stage();

  it('gets no event back: the delivery is refused for good, with a line in the log', async () => {
    const taken: string[] = [];
    const server = await stage.add(
      TrackingServer.start({
        platform,
        analytics: {
          sources: [{ name: 'web', writeKey: 'web' }],
          destinations: { store: new MemoryDestinationStore(), allowPrivateNetwork: true },
          connection: await newConnection(),
          beforeSend: (message) => {
            taken.push(message.type);
            return message;
          },
        },
      }),
    );
    const urls = ['/v1/t', '/v1/track?2', '/v1/m'].map((path) => new URL(path, server.url).href);
    await server.app.get(DestinationsService).create({ tenant: 'acme', urls, headers: basic('web') });
    const outcome = firstValueFrom(server.app.get(DeliveriesService).outcomes$);
    const event = { userId: 'u1', event: 'Opened', context: { groupId: 'acme' } };
    expect(await server.post('/v1/track', event, basic('web'))).toMatchObject({ status: 200 });

    const refused = { class: 'permanent', status: 403 };
    expect(await outcome).toMatchObject({ class: 'failed', outcomes: [refused, refused, refused] });
    expect(taken).toEqual(['track']);
    expect(await server.log.line(/answered 1 request with 403/)).toMatch(/^warn: .* webhook/);
  });
});

import { beforeEach, expect, it } from '@jest/globals';
import { DestinationsService } from '../../src/index.js';
import type { DestinationStore } from '../../src/options/destination-store.js';
import { QUEUE_BACKEND, type QueueBackend } from '../../src/queue/queue-backend.js';
import type { AnalyticsApp, AppOptions } from '../support/analytics-app.js';
import { describeBackend, describeServers } from '../support/describe-backend.js';
import { eventsIn } from '../support/received-message.js';
import type { Receiver } from '../support/receiver.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';
import { MemoryDestinationStore } from './memory-destination-store.js';

const DESTINATIONS = { allowPrivateNetwork: true, encryptionKey: Buffer.alloc(32, 1).toString('hex') };

const TIMES = { createdAt: 1, updatedAt: 1, version: 1 };

const stage = new Stage();
let receiver: Receiver;

beforeEach(async () => {
  receiver = await stage.receiver();
});

function start(options: AppOptions): Promise<AnalyticsApp> {
  return stage.app({ destinations: DESTINATIONS, flushAt: 1, ...options });
}

const destinationsOf = (app: AnalyticsApp): DestinationsService => app.context.get(DestinationsService);

function track(app: AnalyticsApp, event: string): void {
  app.analytics.tenant('acme').track({ userId: 'u1', event });
}

/** Tables of the application that this module only reads. */
function readOnlyStore(): { store: DestinationStore; memory: MemoryDestinationStore } {
  const memory = new MemoryDestinationStore();
  const store = {
    findByTenant: (tenant: string | undefined) => memory.findByTenant(tenant),
    findById: (id: string) => memory.findById(id),
  };
  return { store, memory };
}

describeServers('destinations that another process changes', (backend) => {
  it('get messages according to their latest fields', async () => {
    const { connection } = backend;
    const mine = await start({ connection, worker: false });
    const other = await start({ connection });
    const { id } = await destinationsOf(mine).create({ tenant: 'acme', urls: [receiver.url('/one')] });
    track(other, 'first');
    await receiver.received(1);

    const isRouted = async (event: string): Promise<boolean> => {
      const before = receiver.requests.length;
      track(other, event);
      await other.analytics.flush();
      await other.settled();
      return receiver.requests.length > before;
    };
    await destinationsOf(mine).update(id, { urls: [receiver.url('/two')] });
    await until(async () =>
      (await isRouted('E')) && receiver.requests.at(-1)?.url === '/two' ? true : undefined,
    );
    await destinationsOf(mine).disable(id);
    await until(async () => ((await isRouted('E')) ? undefined : true));
    await destinationsOf(mine).enable(id);
    await until(async () => ((await isRouted('E')) ? true : undefined));
    await destinationsOf(mine).delete(id);
    await until(async () => ((await isRouted('E')) ? undefined : true));
  });

  it('are searched for kept messages again before a process that enabled them ends, or a log line says otherwise', async () => {
    const { connection } = backend;
    const enable = async (shutdownTimeout: number): Promise<AnalyticsApp> => {
      const app = await start({ connection, shutdownTimeout });
      const { id } = await destinationsOf(app).create({ tenant: 'acme', urls: [receiver.url()] });
      await destinationsOf(app).enable(id);
      await app.close();
      return app;
    };
    const lost = /kept for the destination "dst_.*" while disabled may still be kept: the application closed/;
    const hurried = await enable(500);
    expect(await hurried.log.line(lost)).toContain("`deliveries.replay({ error: 'DESTINATION_DISABLED' })`");
    const patient = await enable(30_000);
    expect(patient.log.analytics.filter((line) => lost.test(line))).toEqual([]);
  });

  it('keep all changes that several processes make at the same time', async () => {
    const { connection } = backend;
    const both = [await start({ connection }), await start({ connection })].map(destinationsOf);
    const created = await both[0]?.create({ tenant: 'acme', urls: [receiver.url()] });
    const id = created?.id ?? '';
    await Promise.all([
      ...both.map((destinations) => destinations.update(id, { name: 'n' })),
      ...both.map((destinations) => destinations.update(id, { description: 'd' })),
      ...both.map((destinations) => destinations.rotateSecret(id, { overlap: 0 })),
    ]);
    for (const destinations of both) {
      expect(await destinations.get(id)).toMatchObject({ name: 'n', description: 'd', version: 7 });
    }
    const stale = await Promise.allSettled(
      both.map((destinations, index) => destinations.update(id, { name: `${index}` }, { version: 7 })),
    );
    const refused = stale.findIndex(({ status }) => status === 'rejected');
    expect(stale[refused]).toMatchObject({ reason: { code: 'DESTINATION_CHANGED' } });
    expect(stale[1 - refused]).toMatchObject({ value: { name: `${1 - refused}`, version: 8 } });
    expect(await both[refused]?.get(id)).toMatchObject({ name: `${1 - refused}`, version: 8 });
  });

  it('wait with their messages while the store is away', async () => {
    const { connection, server } = backend;
    const app = await start({ connection });
    await destinationsOf(app).create({ tenant: 'acme', urls: [receiver.url()] });
    track(app, 'before');
    await receiver.received(1);
    await server.stop();
    // Long enough that nothing remembered may be used any more.
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    track(app, 'while it is away');
    app.analytics.tenant('unknown').track({ userId: 'u1', event: 'of somebody unknown' });
    expect(await app.analytics.flush({ timeout: 200 })).toMatchObject({ pending: 2 });
    await server.start();
    await receiver.received(2);
    expect(eventsIn(receiver.requests)).toEqual(['before', 'while it is away']);
    // The message of a tenant without destinations has left as well.
    expect(await app.analytics.flush()).toMatchObject({ pending: 0, refused: 0 });
  });

  it('are found in a store of the application, whose changes reach all processes', async () => {
    const { connection } = backend;
    const { store, memory } = readOnlyStore();
    const mine = await start({ connection, worker: false, destinations: { ...DESTINATIONS, store } });
    const other = await start({ connection, destinations: { ...DESTINATIONS, store } });
    track(other, 'nobody listens');
    await other.analytics.flush();
    await memory.insert({ id: 'hook', tenant: 'acme', urls: [receiver.url()], ...TIMES }, 1);
    await destinationsOf(mine).changed('acme');
    await until(async () => {
      track(other, 'E');
      await other.analytics.flush();
      await other.settled();
      return receiver.requests.length > 0 ? true : undefined;
    });
    const urls = [receiver.url()];
    await expect(destinationsOf(mine).create({ tenant: 'acme', urls })).rejects.toMatchObject({
      code: 'DESTINATIONS_READ_ONLY',
    });
    expect(await destinationsOf(mine).get('hook')).toMatchObject({ tenant: 'acme', enabled: true });
  });

  it('are looked up again for all tenants if a change in a store of the application names no tenant', async () => {
    const { connection } = backend;
    const { store, memory } = readOnlyStore();
    const mine = await start({ connection, worker: false, destinations: { ...DESTINATIONS, store } });
    const other = await start({ connection, destinations: { ...DESTINATIONS, store } });
    const insert = (id: string): Promise<boolean> =>
      memory.insert({ id, tenant: 'acme', urls: [receiver.url(`/${id}`)], ...TIMES }, 2);
    await insert('known');
    for (const app of [mine, other]) {
      track(app, 'before');
      await app.analytics.flush();
    }
    await receiver.received(2);
    await memory.remove('known');
    await insert('new');
    await destinationsOf(mine).changed();
    track(mine, 'by mine');
    await receiver.received(3);
    expect(receiver.requests[2]?.url).toBe('/new');
    await until(async () => {
      track(other, 'by other');
      await other.analytics.flush();
      await other.settled();
      return receiver.requests.length > 3 && receiver.requests.at(-1)?.url === '/new' ? true : undefined;
    });
  });

  it('are announced to all processes once the queue is back, if a store of the application changed meanwhile', async () => {
    const { connection, server } = backend;
    const { store, memory } = readOnlyStore();
    const mine = await start({ connection, destinations: { ...DESTINATIONS, store } });
    const other = await start({ connection, destinations: { ...DESTINATIONS, store } });
    for (const app of [mine, other]) {
      track(app, 'nobody listens');
      await app.analytics.flush();
    }
    await server.stop();
    await memory.insert({ id: 'hook', tenant: 'acme', urls: [receiver.url()], ...TIMES }, 1);
    await destinationsOf(mine).changed('acme');
    track(mine, 'by mine meanwhile');
    await server.start();
    await receiver.received(1);
    expect(eventsIn(receiver.requests)).toEqual(['by mine meanwhile']);
    await until(async () => {
      track(other, 'by other');
      await other.analytics.flush();
      await other.settled();
      return receiver.requests.length > 1 ? true : undefined;
    });
  });

  it('are changed and deleted at once in a store of the application while the queue is away', async () => {
    const { connection, server } = backend;
    const store = new MemoryDestinationStore();
    const app = await start({ connection, history: true, destinations: { ...DESTINATIONS, store } });
    const destinations = destinationsOf(app);
    const { id } = await destinations.create({ tenant: 'acme', urls: [receiver.url()] });
    track(app, 'before');
    await receiver.received(1);
    await server.stop();
    await destinations.update(id, { name: 'n' });
    await destinations.disable(id);
    await destinations.delete(id);
    await expect(destinations.get(id)).rejects.toMatchObject({ code: 'DESTINATION_NOT_FOUND' });
  });

  it('are reported as not announced if the queue is away until the end', async () => {
    const { connection, server } = backend;
    const { store } = readOnlyStore();
    const app = await start({ connection, shutdownTimeout: 500, destinations: { ...DESTINATIONS, store } });
    track(app, 'nobody listens');
    await app.analytics.flush();
    await server.stop();
    await destinationsOf(app).changed('acme');
    await app.close();
    expect(await app.log.line(/were not told of a change of destinations/)).toContain(
      '`DestinationsService.changed`',
    );
  });
});

describeBackend('an application without destinations at run time', (backend) => {
  it('leaves no trace of them in the database', async () => {
    const webhooks = webhooksTo(receiver);
    const app = await stage.app({ connection: backend.connection, webhooks, flushAt: 1 });
    app.analytics.track({ userId: 'u1', event: 'E', context: { groupId: 'acme' } });
    await receiver.received(1);
    await expect(destinationsOf(app).list()).rejects.toMatchObject({ code: 'DESTINATIONS_DISABLED' });
    const { storage } = app.context.get<QueueBackend>(QUEUE_BACKEND);
    if (storage.kind === 'redis') {
      const keys = await storage.client.eval("return redis.call('KEYS', '*destinations*')", 0);
      expect(keys).toEqual([]);
    } else {
      const text = "SELECT to_regclass('nestjs_analytics.destination') AS name";
      expect((await storage.pool.query(text)).rows).toEqual([{ name: null }]);
    }
  });
});

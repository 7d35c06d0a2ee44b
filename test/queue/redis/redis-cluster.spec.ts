import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { BullModule } from '@nestjs/bullmq';
import { Cluster } from 'ioredis';
import {
  AnalyticsHealthIndicator,
  AnalyticsModule,
  AudiencesService,
  DeliveriesService,
  DestinationsService,
  type HourStats,
} from '../../../src/index.js';
import type { HistoryStore } from '../../../src/deliveries/history/history-store.js';
import { minuteOf } from '../../../src/deliveries/history/minute-counts.js';
import { HISTORY_STORE } from '../../../src/deliveries/history/history.providers.js';
import { CLUSTER_GROUPS } from '../../../src/deliveries/history/stores/redis-history-keys.js';
import { MAX_PARTITIONS } from '../../../src/options/resolve-connection.js';
import { partitionOf } from '../../../src/queue/partitions.js';
import { prefixOf } from '../../../src/queue/redis/hash-tags.js';
import { basic, TrackingServer } from '../../ingest/http/tracking-server.js';
import type { AnalyticsApp } from '../../support/analytics-app.js';
import { describeRedis } from '../../support/describe-backend.js';
import { eventsIn, messageIn } from '../../support/received-message.js';
import type { Receiver } from '../../support/receiver.js';
import { RedisCluster } from '../../support/redis-cluster.js';
import { RedisServer } from '../../support/redis-server.js';
import { Stage, webhooksTo } from '../../support/stage.js';
import { until } from '../../support/until.js';

/** Returns which of three masters has a slot. */
function masterOf(slot: number): number {
  return Math.floor((slot * 3) / 16_384);
}

function deliveredIn(hours: readonly HourStats[]): number {
  return hours.reduce((sum, { delivered }) => sum + delivered, 0);
}

/** Returns the paths to which an event was sent, in alphabetical order. */
function pathsOf({ requests }: Receiver, event: string): string[] {
  const of = requests.filter((request) => messageIn(request).event === event);
  return of.map(({ url }) => url).sort();
}

/** Resolves to the connections on which workers wait for jobs. These connections have a name. */
async function workersOf(cluster: RedisCluster, servers: readonly RedisServer[]): Promise<string[]> {
  const lists = await Promise.all(servers.map((server) => cluster.admin(server).call('CLIENT', 'LIST')));
  return lists.flatMap((list) =>
    Array.from(String(list).matchAll(/addr=(\S+) .* name=\S/g), ([, address]) => String(address)),
  );
}

describeRedis('a Redis Cluster', () => {
  const stage = new Stage();
  let cluster: RedisCluster;

  beforeAll(async () => {
    cluster = await RedisCluster.create();
  });
  afterAll(() => cluster.dispose());

  function keysOfNodes(pattern: string): Promise<string[][]> {
    return Promise.all(cluster.servers.map((server) => cluster.admin(server).keys(pattern)));
  }

  async function counts(app: AnalyticsApp): Promise<object> {
    return app.context.get(DeliveriesService).counts();
  }

  it('carries the queue: messages are delivered, kept, listed and replayed', async () => {
    const receiver = await stage.receiver({ answer: [404, 200] });
    const app = await stage.app({ connection: cluster.connection, webhooks: webhooksTo(receiver) });
    const deliveries = app.context.get(DeliveriesService);
    app.analytics.track({ userId: 'u1', event: 'Refused' });
    await app.analytics.flush();
    await app.failedJobs();
    expect(await deliveries.failed()).toMatchObject([{ outcomes: [{ status: 404 }] }]);
    expect(await counts(app)).toMatchObject({ failed: 1 });
    expect(await deliveries.replay()).toBe(1);
    await receiver.received(2);
    await app.settled();
    expect(await counts(app)).toEqual({ waiting: 0, active: 0, delayed: 0, failed: 0 });
    expect(await app.context.get(AnalyticsHealthIndicator).isHealthy('queue')).toMatchObject({
      queue: { status: 'up' },
    });
    expect(app.log.errors).toEqual([]);
  });

  it('keeps audiences, destinations and their history', async () => {
    const receiver = await stage.receiver();
    const options = {
      connection: cluster.connection,
      webhooks: webhooksTo(await stage.receiver()),
      destinations: { allowPrivateNetwork: true, encryptionKey: Buffer.alloc(32, 1).toString('hex') },
    };
    const app = await stage.app(options);
    const destinations = app.context.get(DestinationsService);
    const { id } = await destinations.create({ tenant: 'acme', urls: [receiver.url()] });
    await destinations.create({ tenant: 'other', urls: ['https://hooks.example.com/events'] });
    expect(await destinations.list({ tenant: 'acme' })).toMatchObject({ destinations: [{ id }] });
    app.analytics.tenant('acme').track({ userId: 'u1', event: 'Of a tenant' });
    await app.context.get(AudiencesService).sync('VIPs', ['ann', 'bob']);
    await app.analytics.flush();
    await receiver.received(1);
    await app.settled();
    await app.close();

    const { context } = await stage.app(options);
    expect(await context.get(DeliveriesService).recent({ destination: id, tenant: 'acme' })).toMatchObject([
      { event: 'Of a tenant', state: 'delivered' },
    ]);
    expect(await context.get(AudiencesService).sync('VIPs', ['bob'])).toEqual({
      added: 0,
      removed: 1,
      unchanged: 1,
    });
  });

  it('keeps the counts of a minute even if nothing else is to be written', async () => {
    const webhooks = webhooksTo(await stage.receiver());
    const { context } = await stage.app({ connection: cluster.connection, webhooks });
    const store = context.get<HistoryStore>(HISTORY_STORE);
    const minute = minuteOf(Date.now()) - 60;
    await store.write([], Date.now(), [[minute, { delivered: 2 }]]);
    expect(await store.minutes(minute, minute)).toEqual([[minute, { delivered: 2 }]]);
  });

  it('keeps the history of destinations on all of its nodes, and returns the totals of all nodes', async () => {
    const receiver = await stage.receiver();
    const ids = Array.from({ length: 12 }, (_, index) => `crm-${index}`);
    const webhooks = ids.map((id) => webhooksTo(receiver, { id }));
    const app = await stage.app({ connection: cluster.connection, webhooks });
    const deliveries = app.context.get(DeliveriesService);
    const before = deliveredIn(await deliveries.totals());
    app.analytics.track({ userId: 'u1', event: 'To all' });
    await app.analytics.flush();
    await receiver.received(ids.length);
    await until(async () =>
      deliveredIn(await deliveries.totals()) === before + ids.length ? true : undefined,
    );
    for (const destination of ids) {
      expect(await deliveries.recent({ destination })).toMatchObject([{ event: 'To all' }]);
      expect(deliveredIn(await deliveries.stats({ destination }))).toBe(1);
    }
    const keys = await keysOfNodes('*:history:whole:crm-*');
    expect(keys.flat()).toHaveLength(ids.length);
    expect(Math.min(...keys.map((ofNode) => ofNode.length))).toBeGreaterThan(0);
  });

  it('keeps audiences on all of its nodes', async () => {
    const webhooks = webhooksTo(await stage.receiver());
    const app = await stage.app({ connection: cluster.connection, webhooks });
    const audiences = app.context.get(AudiencesService);
    for (let n = 0; n < 12; n++) await audiences.sync(`Group ${n}`, ['ann']);
    const keys = await keysOfNodes('*audience:group*');
    expect(Math.min(...keys.map((ofNode) => ofNode.length))).toBeGreaterThan(0);
  });

  it('has partitions divided evenly among its masters, however many partitions there are', async () => {
    const admin = cluster.admin(cluster.master(0));
    const slots = await Promise.all(
      Array.from({ length: MAX_PARTITIONS }, async (_, partition) =>
        Number(await admin.call('CLUSTER', 'KEYSLOT', prefixOf(partition))),
      ),
    );
    const perMaster = (partitions: number): number[] =>
      [0, 1, 2].map(
        (master) => slots.slice(0, partitions).filter((slot) => masterOf(slot) === master).length,
      );
    expect(perMaster(3)).toEqual([1, 1, 1]);
    expect(perMaster(8).sort()).toEqual([2, 3, 3]);
    expect(perMaster(32).sort()).toEqual([10, 11, 11]);
  });

  it('is used through the client of the host application', async () => {
    const host = new Cluster(cluster.connection.cluster);
    const receiver = await stage.receiver();
    const app = await stage.appWith([
      BullModule.forRoot({ connection: host }),
      AnalyticsModule.forRoot({ writeKey: 'wk_test', webhooks: webhooksTo(receiver) }),
    ]);
    app.analytics.track({ userId: 'u1', event: 'On the host' });
    await app.analytics.flush();
    expect(eventsIn(await receiver.received(1))).toEqual(['On the host']);
    await app.close();
    expect(host.status).toBe('ready');
    host.disconnect();
  });

  it('is refused if its servers are not nodes of a cluster', async () => {
    const server = await RedisServer.create();
    const connection = { cluster: [{ host: '127.0.0.1', port: server.port }] };
    const webhooks = { urls: ['https://hooks.example.com/events'] };
    await expect(stage.app({ connection, webhooks })).rejects.toMatchObject({
      code: 'UNSUPPORTED_QUEUE_SERVER',
      message: expect.stringMatching(/is not a node of a Redis Cluster.*`connection: \{ host, port \}`/),
    });
    await server.dispose();
  });

  it('makes the application wait while it is away, and still lets the application end', async () => {
    const away = await RedisCluster.create();
    await Promise.all(away.servers.map((server) => server.kill()));
    const receiver = await stage.receiver();
    const webhooks = webhooksTo(receiver);
    const app = await stage.app({ connection: away.connection, webhooks, flushAt: 1, shutdownTimeout: 500 });
    app.analytics.track({ userId: 'u1', event: 'Waiting' });
    await app.log.line(/cannot be reached/);
    await Promise.all(away.servers.map((server) => server.start()));
    expect(eventsIn(await receiver.received(1))).toEqual(['Waiting']);
    await app.log.line(/is back after/);

    await Promise.all(away.servers.map((server) => server.kill()));
    const outages = (): string[] => app.log.analytics.filter((line) => line.includes('cannot be reached'));
    await until(() => outages().length === 2 || undefined);
    await app.close();
    await away.dispose();
  });

  it('takes and delivers messages on the other masters if it has lost one without a replica', async () => {
    const broken = await RedisCluster.create();
    for (const server of broken.servers) {
      await broken.admin(server).call('CONFIG', 'SET', 'cluster-require-full-coverage', 'no');
    }
    const receiver = await stage.receiver();
    const ids = Array.from({ length: 12 }, (_, index) => `d${index}`);
    const webhooks = ids.map((id) => webhooksTo(receiver, { id, urls: [receiver.url(`/${id}`)] }));
    const app = await stage.app({ connection: broken.connection, webhooks, flushAt: 1 });
    const lost = broken.master(0);
    const admin = broken.admin(broken.master(1));
    const slots = await Promise.all(
      ids.map(async (id) =>
        Number(await admin.call('CLUSTER', 'KEYSLOT', prefixOf(partitionOf(id, app.queues.length)))),
      ),
    );
    const held = ids.filter((_, index) => masterOf(slots[index] ?? 0) !== 0);
    await lost.kill();
    for (const event of ['First', 'Second']) {
      for (const id of ids) {
        app.analytics.track({ userId: 'u1', event, integrations: { All: false, [id]: true } });
      }
      // Jobs are added one after the other, so the second ones would wait for the first ones.
      await until(() => pathsOf(receiver, event).length >= held.length || undefined);
      expect(pathsOf(receiver, event)).toEqual(held.map((id) => `/${id}`).sort());
    }
    await lost.start();
    await until(() => receiver.requests.length === 2 * ids.length || undefined);
    await app.close();
    await broken.dispose();
  });

  it('takes calls of other programs to destinations on the other masters if it has lost one', async () => {
    const broken = await RedisCluster.create();
    for (const server of broken.servers) {
      await broken.admin(server).call('CONFIG', 'SET', 'cluster-require-full-coverage', 'no');
    }
    const receiver = await stage.receiver();
    const partitions = 8;
    const ids = Array.from({ length: 12 }, (_, index) => `d${index}`);
    const admin = broken.admin(broken.master(1));
    const isLost = await Promise.all(
      ids.map(async (id) => {
        const slot = await admin.call('CLUSTER', 'KEYSLOT', prefixOf(partitionOf(id, partitions)));
        return masterOf(Number(slot)) === 0;
      }),
    );
    const lost = ids.find((_, index) => isLost[index] === true);
    const held = ids.filter((_, index) => isLost[index] === false);
    const api = await stage.add(
      TrackingServer.start({
        platform: 'Express',
        analytics: {
          connection: broken.connection,
          partitions,
          sources: ['mixed', ...ids].map((name) => ({ name, writeKey: name })),
          webhooks: ids.map((id) => {
            const isMixed = id === lost || id === held[0];
            return webhooksTo(receiver, { id, sources: isMixed ? [id, 'mixed'] : [id] });
          }),
        },
      }),
    );
    const track = { userId: 'u1', event: 'Sent' };
    const send = async (id = ''): Promise<number> => (await api.post('/v1/track', track, basic(id))).status;
    const sendWithKey = async (writeKey = ''): Promise<number> =>
      (await api.post('/v1/track', { ...track, writeKey })).status;
    const sendMixed = async (): Promise<number> => {
      const batch = [lost, held[0]].map((id = '') => ({
        type: 'track',
        userId: 'u1',
        event: `For ${id}`,
        integrations: { All: false, [id]: true },
      }));
      return (await api.post('/v1/batch', { batch }, basic('mixed'))).status;
    };
    const forHeld = (): string[] => pathsOf(receiver, `For ${held[0]}`);
    await broken.master(0).kill();
    expect(await send(lost)).toBe(503);
    expect(await Promise.all(held.map((id) => send(id)))).toEqual(held.map(() => 200));
    expect(await sendWithKey(held[0])).toBe(200);
    expect([await send(lost), await sendWithKey(lost)]).toEqual([503, 503]);
    // The last message of the request gets through, the first one does not.
    expect([await sendMixed(), await sendMixed()]).toEqual([503, 503]);
    expect(forHeld()).toHaveLength(1);
    await broken.master(0).start();
    await until(() => receiver.requests.length === held.length + 4 || undefined);
    await api.close();
    await broken.dispose();
  });

  it('continues to store the history of destinations on other masters if one master does not answer', async () => {
    const hanging = await RedisCluster.create();
    for (const server of hanging.servers) {
      await hanging.admin(server).call('CONFIG', 'SET', 'cluster-require-full-coverage', 'no');
    }
    const receiver = await stage.receiver();
    const all = Array.from({ length: 40 }, (_, index) => `d${index}`);
    const webhooks = all.map((id) => webhooksTo(receiver, { id, urls: [receiver.url(`/${id}`)] }));
    const app = await stage.app({ connection: hanging.connection, webhooks, flushAt: 1 });
    const deliveries = app.context.get(DeliveriesService);
    const admin = hanging.admin(hanging.master(1));
    const masterOfGroup = async (id: string, groups: number): Promise<number> =>
      masterOf(Number(await admin.call('CLUSTER', 'KEYSLOT', prefixOf(partitionOf(id, groups)))));
    const places = await Promise.all(
      all.map(async (id) => ({
        id,
        queue: await masterOfGroup(id, app.queues.length),
        history: await masterOfGroup(id, CLUSTER_GROUPS),
      })),
    );
    const taken = places.filter(({ queue }) => queue !== 0);
    const used = taken.map(({ id }) => id);
    const held = taken.filter(({ history }) => history !== 0).map(({ id }) => id);
    expect(held.length).toBeGreaterThan(0);
    expect(held.length).toBeLessThan(used.length);
    const isStored = (ids: readonly string[], event: string): Promise<true> =>
      until(async () => {
        const recent = await Promise.all(ids.map((destination) => deliveries.recent({ destination })));
        return recent.every((entries) => entries.some((entry) => entry.event === event)) || undefined;
      });

    const trackTo = (ids: readonly string[], event: string): void => {
      for (const id of ids) {
        app.analytics.track({ userId: 'u1', event, integrations: { All: false, [id]: true } });
      }
    };
    trackTo(all, 'Before');
    await isStored(all, 'Before');

    hanging.master(0).pause();
    for (const event of ['First', 'Second', 'Third']) {
      trackTo(used, event);
      await isStored(held, event);
    }
    hanging.master(0).resume();
    await isStored(used, 'Third');
    await app.close();
    await hanging.dispose();
  });

  it('continues when a master is back without which it serves no slots', async () => {
    const broken = await RedisCluster.create();
    const receiver = await stage.receiver();
    const ids = Array.from({ length: 12 }, (_, index) => `d${index}`);
    const webhooks = ids.map((id) => webhooksTo(receiver, { id, urls: [receiver.url(`/${id}`)] }));
    const app = await stage.app({ connection: broken.connection, webhooks, flushAt: 1 });
    const living = [broken.master(1), broken.master(2)];
    await until(async () => ((await workersOf(broken, living)).length > 0 ? true : undefined));
    await broken.master(0).kill();
    await Promise.all(living.map((server) => broken.down(server)));
    const before = await workersOf(broken, living);
    expect(before).not.toEqual([]);
    // A worker that has waited in vain for longer than it asked for reconnects. No node is ready then.
    await until(async () => {
      const now = await workersOf(broken, living);
      return before.every((worker) => now.includes(worker)) ? undefined : true;
    });
    await broken.master(0).start();
    app.analytics.track({ userId: 'u1', event: 'Back' });
    await until(() => receiver.requests.length === ids.length || undefined);
    await app.close();
    await broken.dispose();
  });
});

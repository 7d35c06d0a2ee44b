import { beforeAll, expect, it } from '@jest/globals';
import { Cluster, type NatMap } from 'ioredis';
import { type AnalyticsConnection, AudiencesService } from '../../../src/index.js';
import type { AnalyticsApp } from '../../support/analytics-app.js';
import { type Certificates, createCertificates, type KeyPair } from '../../support/certificates.js';
import { describeRedis } from '../../support/describe-backend.js';
import { eventsIn } from '../../support/received-message.js';
import type { Receiver } from '../../support/receiver.js';
import { RedisCluster, type RedisClusterOptions } from '../../support/redis-cluster.js';
import { destinationsBySource, Stage } from '../../support/stage.js';
import { TcpProxy } from '../../support/tcp-proxy.js';

/** So many destinations that their partitions lie on all masters. */
const DESTINATIONS = Array.from({ length: 24 }, (_, index) => `d${index}`);
/** A name that nobody can look up. */
const INSIDE = 'inside.invalid';

const stage = new Stage();

async function startCluster(options: RedisClusterOptions): Promise<RedisCluster> {
  const cluster = await RedisCluster.create(options);
  await stage.add(Promise.resolve({ close: () => cluster.dispose() }));
  return cluster;
}

function start(connection: AnalyticsConnection, receiver: Receiver): Promise<AnalyticsApp> {
  return stage.app({
    connection,
    shutdownTimeout: 500,
    ...destinationsBySource(receiver.urls(DESTINATIONS)),
  });
}

/** Delivers an event to every destination. */
async function deliver(app: AnalyticsApp, receiver: Receiver, event: string): Promise<void> {
  const before = receiver.requests.length;
  for (const id of DESTINATIONS) app.analytics.source(id).track({ userId: 'u1', event });
  await app.analytics.flush();
  await receiver.received(before + DESTINATIONS.length);
  expect(new Set(eventsIn(receiver.requests.slice(before)))).toEqual(new Set([event]));
}

describeRedis('a Redis Cluster with TLS', () => {
  let certificates: Certificates;

  beforeAll(() => {
    certificates = createCertificates();
  });

  function trusting(): { tls: { ca: string } } {
    return { tls: { ca: certificates.ca } };
  }

  /** Starts a cluster with a certificate of an authority that clients know only if it is configured. */
  function startWithTls(pair: KeyPair, hostname?: string): Promise<RedisCluster> {
    return startCluster({
      tls: { ca: certificates.ca, ...pair },
      ...(hostname !== undefined && { hostname }),
    });
  }

  it('carries the queue, even after its nodes were away', async () => {
    const cluster = await startWithTls(certificates.good);
    const receiver = await stage.receiver();
    const app = await start({ ...cluster.connection, redisOptions: trusting() }, receiver);
    await deliver(app, receiver, 'First');
    expect(await app.context.get(AudiencesService).sync('VIPs', ['ann'])).toMatchObject({ added: 1 });

    await Promise.all(cluster.servers.map((server) => server.kill()));
    await app.log.line(/cannot be reached/);
    await Promise.all(cluster.servers.map((server) => server.start()));
    await deliver(app, receiver, 'Second');
    expect(app.log.errors).toEqual([]);
  });

  it('is found by the URL of one of its nodes, whose password is used for all nodes', async () => {
    const cluster = await startWithTls(certificates.good);
    await Promise.all(
      cluster.servers.map((server) => cluster.admin(server).config('SET', 'requirepass', 'p@ss')),
    );
    const receiver = await stage.receiver();
    const nodes = [`rediss://:p%40ss@127.0.0.1:${cluster.master(0).port}`];
    const app = await start({ cluster: nodes, redisOptions: trusting() }, receiver);
    await deliver(app, receiver, 'With a password');
  });

  it('has its certificate checked against the names of its nodes', async () => {
    const cluster = await startWithTls(certificates.byName, 'localhost');
    const receiver = await stage.receiver();
    const nodes = cluster.servers.map(({ port }) => ({ host: 'localhost', port }));
    const app = await start({ cluster: nodes, redisOptions: trusting() }, receiver);
    await deliver(app, receiver, 'By name');
  });

  it('is not used if its authority is unknown, and the log says why', async () => {
    const cluster = await startWithTls(certificates.good);
    const nodes = cluster.servers.map(({ port }) => `rediss://127.0.0.1:${port}`);
    const app = await start({ cluster: nodes }, await stage.receiver());
    expect(await app.log.line(/cannot be reached/)).toMatch(
      /its certificate is not accepted, SELF_SIGNED_CERT_IN_CHAIN/,
    );
  });
});

describeRedis('a Redis Cluster whose nodes announce addresses that nobody else can reach', () => {
  let cluster: RedisCluster;
  let proxies: TcpProxy[];
  let nodes: { host: string; port: number }[];
  let natMap: Record<string, { host: string; port: number }>;

  async function startBehindProxies(): Promise<void> {
    cluster = await startCluster({ hostname: INSIDE });
    proxies = await Promise.all(cluster.servers.map((server) => stage.add(TcpProxy.start(server))));
    nodes = proxies.map(({ port }) => ({ host: '127.0.0.1', port }));
    natMap = {};
    for (const [index, { port }] of cluster.servers.entries()) {
      const node = nodes[index];
      if (node !== undefined) natMap[`${INSIDE}:${port}`] = node;
    }
  }

  async function expectToDeliver(connection: AnalyticsConnection): Promise<void> {
    const receiver = await stage.receiver();
    const app = await start(connection, receiver);
    await deliver(app, receiver, 'First');
    for (const proxy of proxies) proxy.reset();
    await deliver(app, receiver, 'Second');
    expect(Math.min(...proxies.map(({ accepted }) => accepted))).toBeGreaterThan(0);
    expect(app.log.errors).toEqual([]);
  }

  it('is reached at the addresses in `natMap`', async () => {
    await startBehindProxies();
    await expectToDeliver({ cluster: nodes.slice(0, 1), natMap });
  });

  it("is reached at the addresses in the `natMap` of the application's own client", async () => {
    await startBehindProxies();
    const ofMap: NatMap = (address) => natMap[address] ?? null;
    const own = new Cluster(nodes.slice(0, 1), { natMap: ofMap });
    const close = (): Promise<void> => {
      own.disconnect();
      return Promise.resolve();
    };
    await stage.add(Promise.resolve({ close }));
    await expectToDeliver(own);
  });
});

import { once } from 'node:events';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { openClusterClients } from '../../../src/queue/redis/redis-cluster-clients.js';
import { openRedisClients, type RedisClients } from '../../../src/queue/redis/redis-clients.js';
import { within } from '../../../src/shared/within.js';
import { describeRedis } from '../../support/describe-backend.js';
import { freePort } from '../../support/free-port.js';
import { RedisCluster } from '../../support/redis-cluster.js';
import { RedisServer } from '../../support/redis-server.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { until } from '../../support/until.js';

const OBSERVER = { onDown: () => undefined, onUp: () => undefined };

describeRedis('a client of Redis', () => {
  let server: RedisServer;
  let clients: RedisClients;

  beforeAll(async () => {
    server = await RedisServer.create();
    clients = await openRedisClients(server.url(), OBSERVER);
  });

  afterAll(async () => {
    clients.close();
    await server.dispose();
  });

  /** Resolves to how often the server has read from its connections. */
  async function reads(): Promise<number> {
    const stats = await clients.client.info('stats');
    return Number(/total_reads_processed:(\d+)/.exec(stats)?.[1]);
  }

  /** Blocks for long enough that the server could read earlier writes of the same turn of the event loop. */
  function work(): void {
    const end = performance.now() + 5;
    while (performance.now() < end);
  }

  it('sends the commands of one turn of the event loop together', async () => {
    const before = await reads();
    const answers = Array.from({ length: 10 }, (_, index) => {
      work();
      return clients.client.echo(`${index}`);
    });
    expect(await Promise.all(answers)).toEqual(Array.from({ length: 10 }, (_, index) => `${index}`));
    // The second call of `reads` takes one read itself.
    expect((await reads()) - before).toBe(2);
  });

  it('sends the commands of a later turn on their own', async () => {
    const before = await reads();
    for (const text of ['a', 'b', 'c']) expect(await clients.client.echo(text)).toBe(text);
    expect((await reads()) - before).toBe(4);
  });

  it('gets an answer to all commands that were under way when it had to reconnect', async () => {
    const answers = Array.from({ length: 10 }, (_, index) => clients.client.echo(`${index}`));
    clients.client.disconnect(true);
    expect(await Promise.all(answers)).toEqual(Array.from({ length: 10 }, (_, index) => `${index}`));
  });

  it('leaves a demoted server once, however many of its commands are refused', async () => {
    const demoted = await RedisServer.create();
    const opened = await openRedisClients(demoted.url(), OBSERVER);
    const { client } = opened;
    await client.replicaof('127.0.0.1', await freePort());
    const { stream } = client;
    const listeners = stream.listenerCount('close');
    const answers = await Promise.allSettled(Array.from({ length: 20 }, () => client.set('key', 'value')));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 'rejected'));
    // Node warns about more than ten listeners.
    expect(stream.listenerCount('close') - listeners).toBeLessThanOrEqual(1);
    await client.replicaof('NO', 'ONE');
    expect(client.stream).not.toBe(stream);
    expect(await client.set('key', 'value')).toBe('OK');
    opened.close();
    await demoted.dispose();
  });

  it('leaves no command without an answer when it is closed, not even one sent over the connection before', async () => {
    const proxy = await TcpProxy.start(server);
    const through = await openRedisClients(proxy.through(server.url()), OBSERVER);
    await through.client.ping();
    proxy.swallow(true);
    const answer = through.client.ping().catch(String);
    const { accepted } = proxy;
    proxy.reset();
    await until(() => (proxy.accepted > accepted && through.client.status === 'connect' ? true : undefined));
    through.close();
    expect(await answer).toMatch(/Connection is closed/);
    await proxy.close();
  });

  it('does not wait, when it is closed, for a hanging cluster node that was asked for its slots', async () => {
    const cluster = await RedisCluster.create();
    const [first] = cluster.servers;
    const nodes = [{ host: '127.0.0.1', port: first?.port }];
    const options = { slotsRefreshTimeout: 600_000 };
    const opened = await openClusterClients({ kind: 'cluster', nodes, options }, OBSERVER);
    await opened.client.ping();
    for (const server of cluster.servers) server.pause();
    const asked = new Promise((resolve) => {
      opened.client.refreshSlotsCache(resolve);
    });
    opened.close();
    // `ioredis` itself ends the request after ten seconds.
    expect(await within(5_000, asked)).toMatchObject({
      message: expect.stringMatching(/^Cluster is disconnect/),
    });
    await cluster.dispose();
  });

  it.each([
    ['a server', async () => openRedisClients({ host: '127.0.0.1', port: await freePort() }, OBSERVER)],
    [
      'a cluster',
      async () =>
        openClusterClients({ kind: 'cluster', nodes: [{ port: await freePort() }], options: {} }, OBSERVER),
    ],
  ])('ends when it is disconnected between two attempts to reach %s', async (_, open) => {
    const opened = await open();
    const { client } = opened;
    await until(() => client.status === 'reconnecting' || undefined);
    const ended = once(client, 'end');
    client.disconnect();
    await ended;
    opened.close();
  });
});

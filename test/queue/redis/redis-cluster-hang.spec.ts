import { once } from 'node:events';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Cluster } from 'ioredis';
import { openClusterClients } from '../../../src/queue/redis/redis-cluster-clients.js';
import { describeRedis } from '../../support/describe-backend.js';
import { RedisCluster } from '../../support/redis-cluster.js';

/** So many that, if each chose nodes at random, some would choose the one that hangs. */
const CLIENTS = 20;

describeRedis('the clients of a Redis Cluster whose master hangs', () => {
  let cluster: RedisCluster;

  beforeAll(async () => {
    cluster = await RedisCluster.create();
    for (const server of cluster.servers) {
      await cluster.admin(server).call('CONFIG', 'SET', 'cluster-require-full-coverage', 'no');
    }
  });
  afterAll(() => cluster.dispose());

  it('do not ask that master what any node can tell', async () => {
    const clients = await openClusterClients(
      { kind: 'cluster', nodes: cluster.connection.cluster, options: {} },
      { onDown: () => undefined, onUp: () => undefined },
    );
    const silent: string[] = [];
    cluster.master(0).pause();
    try {
      const opened = Array.from({ length: CLIENTS }, (): Cluster => clients.client.duplicate());
      await Promise.all(
        opened.map(async (client) => {
          client.on('node error', ({ message }: Error, address: string) => {
            if (message.startsWith('Socket timeout')) silent.push(address);
          });
          await once(client, 'ready');
          expect(await client.info('server')).toContain('redis_version');
        }),
      );
      expect(silent).toEqual([]);
    } finally {
      cluster.master(0).resume();
      clients.close();
    }
  });
});

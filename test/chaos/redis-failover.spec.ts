import { afterEach, expect, it } from '@jest/globals';
import type { AnalyticsConnection } from '../../src/index.js';
import { describeRedis } from '../support/describe-backend.js';
import { receivedIds } from '../support/message-ids.js';
import { RedisCluster } from '../support/redis-cluster.js';
import { RedisSentinel } from '../support/redis-sentinel.js';
import { destinationsBySource, Stage } from '../support/stage.js';

/** So many destinations that their partitions lie on all masters. */
const DESTINATIONS = Array.from({ length: 24 }, (_, index) => `d${index}`);
const MESSAGES = 10_000;
/** Number of messages that are tracked every 10 ms. */
const AT_ONCE = 20;
/** Longest time in which a destination may get nothing, in milliseconds. */
const LONGEST_PAUSE = 15_000;

describeRedis('messages under way', () => {
  const stage = new Stage();
  let servers: { dispose(): Promise<void> } | undefined;

  afterEach(() => servers?.dispose());

  /** Sends at least 10,000 messages. Resolves to the lost messages and the longest pause of any destination. */
  async function runUnderLoad(
    connection: AnalyticsConnection,
    fault: () => Promise<void>,
  ): Promise<{ lost: string[]; pause: number }> {
    const lastAt = new Map<string, number>();
    let pause = 0;
    const receiver = await stage.receiver({
      answer: ({ url }) => {
        const now = performance.now();
        pause = Math.max(pause, now - (lastAt.get(url) ?? now));
        lastAt.set(url, now);
        return 200;
      },
    });
    const app = await stage.app({
      connection,
      flushAfter: 100,
      // Short locks, so that workers soon take over the jobs of a lost command.
      ...destinationsBySource(receiver.urls(DESTINATIONS), { timeout: 2_000, retryWindow: 600_000 }),
    });
    const ids: string[] = [];
    const load = setInterval(() => {
      for (let n = 0; n < AT_ONCE; n++) {
        const source = DESTINATIONS[ids.length % DESTINATIONS.length] ?? '';
        ids.push(app.analytics.source(source).track({ userId: 'u1', event: 'Under load' }));
      }
    }, 10);
    try {
      await receiver.received(MESSAGES / 10);
      await fault();
      await receiver.received(MESSAGES);
    } finally {
      clearInterval(load);
    }
    await app.analytics.flush();
    await receiver.received(ids.length);
    await app.settled();
    const arrived = new Set(receivedIds(receiver));
    process.stdout.write(
      `${ids.length} messages, ${receiver.requests.length - arrived.size} twice; ` +
        `the longest pause was ${(pause / 1_000).toFixed(1)} s\n`,
    );
    return { lost: ids.filter((id) => !arrived.has(id)), pause };
  }

  async function expectNothingLost(
    connection: AnalyticsConnection,
    fault: () => Promise<void>,
  ): Promise<void> {
    const { lost, pause } = await runUnderLoad(connection, fault);
    expect(lost).toEqual([]);
    expect(pause).toBeLessThan(LONGEST_PAUSE);
  }

  async function startCluster(options?: Parameters<typeof RedisCluster.create>[0]): Promise<RedisCluster> {
    const cluster = await RedisCluster.create(options);
    servers = cluster;
    return cluster;
  }

  it('are delivered on a Redis Cluster when a replica takes the place of a killed master', async () => {
    const cluster = await startCluster({ replicas: true });
    const master = cluster.master(0);
    await expectNothingLost(cluster.connection, async () => {
      await master.kill();
      await cluster.replaced(master);
    });
  }, 180_000);

  it('are delivered on a Redis Cluster when a replica takes the place of a hanging master', async () => {
    const cluster = await startCluster({ replicas: true });
    const master = cluster.master(1);
    await expectNothingLost(cluster.connection, async () => {
      master.pause();
      await cluster.replaced(master);
    });
  }, 180_000);

  it('are delivered on a Redis Cluster while a node is added and slots move to it', async () => {
    const cluster = await startCluster();
    await expectNothingLost(cluster.connection, async () => {
      await cluster.addMaster();
      await cluster.rebalance();
    });
  }, 180_000);

  it('are delivered when Sentinel replaces a killed master', async () => {
    const sentinel = await RedisSentinel.create();
    servers = sentinel;
    await expectNothingLost(sentinel.connection, () => sentinel.master.kill());
  }, 180_000);
});

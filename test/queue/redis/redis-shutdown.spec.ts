import { afterEach, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { ClusterConnection } from '../../../src/index.js';
import { startApplication } from '../../support/application-child.js';
import { describeRedis } from '../../support/describe-backend.js';
import { RedisCluster } from '../../support/redis-cluster.js';
import { RedisServer } from '../../support/redis-server.js';
import { Stage, webhooksTo } from '../../support/stage.js';
import { until } from '../../support/until.js';

/** The last command on the connection on which a worker waits for jobs, and the seconds since then. */
interface WorkerConnection {
  command: string;
  seconds: number;
}

describeRedis('a process whose Redis goes away while it closes', () => {
  const stage = new Stage();
  let dispose: (() => Promise<void>) | undefined;

  afterEach(() => dispose?.());

  /** Makes the servers go away after the worker has paused, and before it is closed. */
  async function expectEnd(
    servers: readonly RedisServer[],
    connection: string | ClusterConnection,
    leave: 'kill' | 'pause',
  ): Promise<void> {
    const admins = servers.map(({ port }) => new Redis({ port }));
    // Connections of workers have a name.
    const workers = async (): Promise<WorkerConnection[]> => {
      const lists = await Promise.all(admins.map((admin) => admin.client('LIST')));
      const found = String(lists).matchAll(/ name=\{\S+ age=\d+ idle=(\d+) .* cmd=(\S+)/g);
      return Array.from(found, ([, idle, command = '']) => ({ command, seconds: Number(idle) }));
    };
    const child = await startApplication({
      connection,
      webhooks: webhooksTo(await stage.receiver()),
      shutdownTimeout: 5_000,
      end: 'close',
      isHeld: true,
    });
    await child.waitFor(/^taken$/);
    await until(async () => (await workers()).some(({ command }) => command === 'bzpopmin') || undefined);
    process.kill(child.pid, 'SIGUSR2');
    await child.waitFor(/^closing$/);
    await until(async () => {
      const all = await workers();
      const havePaused = all.every(({ command, seconds }) => command !== 'bzpopmin' && seconds >= 1);
      return (all.length > 0 && havePaused) || undefined;
    });
    for (const admin of admins) admin.disconnect();
    await Promise.all(servers.map(async (server) => server[leave]()));
    process.kill(child.pid, 'SIGUSR2');
    expect(await child.waitFor(/^closed/)).toBe('closed');
    expect(await child.waitFor(/^exit/)).toBe('exit 0');
  }

  it.each(['kill', 'pause'] as const)('ends all the same (%s)', async (leave) => {
    const server = await RedisServer.create();
    dispose = () => server.dispose();
    await expectEnd([server], server.url(), leave);
  });

  it.each(['kill', 'pause'] as const)('ends all the same on a Redis Cluster (%s)', async (leave) => {
    const cluster = await RedisCluster.create();
    dispose = () => cluster.dispose();
    await expectEnd(cluster.servers, cluster.connection, leave);
  });
});

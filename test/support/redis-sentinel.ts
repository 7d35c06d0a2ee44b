import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { GuardedChild } from './child-process.js';
import { findBinary } from './find-binary.js';
import { freePort } from './free-port.js';
import { RedisServer } from './redis-server.js';
import { until } from './until.js';

/** A master and its replica, watched by a Sentinel that promotes the replica when the master is gone. */
export class RedisSentinel {
  private constructor(
    readonly master: RedisServer,
    readonly replica: RedisServer,
    readonly port: number,
    private readonly child: GuardedChild,
    private readonly dir: string,
  ) {}

  static async create(): Promise<RedisSentinel> {
    const master = await RedisServer.create({ appendOnly: true });
    const replica = await RedisServer.create({ appendOnly: true });
    const admin = new Redis({ port: replica.port });
    await admin.replicaof('127.0.0.1', master.port);
    await until(async () => {
      const info = await admin.info('replication');
      return info.includes('master_link_status:up') ? true : undefined;
    });
    admin.disconnect();
    const dir = await mkdtemp(join(tmpdir(), 'analytics-sentinel-'));
    const port = await freePort();
    const config = join(dir, 'sentinel.conf');
    const lines = [
      `port ${port}`,
      'bind 127.0.0.1',
      `dir ${dir}`,
      `sentinel monitor main 127.0.0.1 ${master.port} 1`,
      'sentinel down-after-milliseconds main 2000',
      'sentinel failover-timeout main 10000',
    ];
    await writeFile(config, lines.join('\n'));
    const binary = findBinary('redis-server');
    if (binary === undefined) throw new Error('redis-server is not on the PATH');
    const child = await GuardedChild.start(binary, [config, '--sentinel']);
    await child.waitFor(/\+monitor master main/);
    // The Sentinel has to know the replica before it can promote it.
    await child.waitFor(/\+slave slave/);
    child.drain();
    return new RedisSentinel(master, replica, port, child, dir);
  }

  /** The value of the option `connection`. */
  get connection(): { sentinels: { host: string; port: number }[]; name: string } {
    return { sentinels: [{ host: '127.0.0.1', port: this.port }], name: 'main' };
  }

  async dispose(): Promise<void> {
    await this.child.stop('SIGKILL');
    await Promise.all([this.master.dispose(), this.replica.dispose()]);
    await rm(this.dir, { recursive: true, force: true });
  }
}

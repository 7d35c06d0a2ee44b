import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { RedisServer, type RedisTls } from './redis-server.js';
import { until } from './until.js';

const SLOTS = 16_384;

export interface RedisClusterOptions {
  /** @default 3 */
  masters?: number;
  /** Whether each master has a replica, which takes the master's place if that is gone. @default false */
  replicas?: boolean;
  /** If given, the nodes speak only TLS. */
  tls?: RedisTls;
  /** The host name that the nodes announce to clients. @default none: they announce their address */
  hostname?: string;
}

/** A Redis Cluster that nobody else uses, with its slots divided evenly. */
export class RedisCluster {
  /** All servers, the initial masters first. */
  readonly servers: RedisServer[] = [];
  /** Replicas by their masters. */
  private readonly replicas = new Map<RedisServer, RedisServer>();
  private readonly admins = new Map<RedisServer, Redis>();

  private constructor(private readonly options: RedisClusterOptions) {}

  static async create(options: RedisClusterOptions = {}): Promise<RedisCluster> {
    const { masters = 3, replicas = false } = options;
    const cluster = new RedisCluster(options);
    const first = await cluster.addServers(masters);
    await Promise.all(
      first.map(async (server, index) => {
        const from = Math.round((index * SLOTS) / masters);
        const to = Math.round(((index + 1) * SLOTS) / masters) - 1;
        await cluster.admin(server).call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
        await cluster.admin(server).call('CLUSTER', 'ADDSLOTSRANGE', from, to);
      }),
    );
    const followers = await cluster.addServers(replicas ? masters : 0);
    await cluster.meet();
    await Promise.all(
      followers.map(async (server, index) => {
        const master = first[index];
        if (master !== undefined) await cluster.follow(server, master);
      }),
    );
    return cluster;
  }

  /** The value of the option `connection`. */
  get connection(): { cluster: { host: string; port: number }[] } {
    return { cluster: this.servers.map(({ port }) => ({ host: '127.0.0.1', port })) };
  }

  /** Returns one of the initial masters. */
  master(index: number): RedisServer {
    const server = this.servers[index];
    if (server === undefined) throw new Error(`There is no master ${index}.`);
    return server;
  }

  /** Returns a connection to one of the servers. */
  admin(server: RedisServer): Redis {
    let admin = this.admins.get(server);
    if (admin === undefined) {
      const { tls } = this.options;
      this.admins.set(
        server,
        (admin = new Redis({ port: server.port, ...(tls && { tls: { ca: tls.ca } }) })),
      );
      // Some tests are about servers that go away.
      admin.on('error', () => undefined);
    }
    return admin;
  }

  /** Adds a master that has no slots yet. */
  async addMaster(): Promise<void> {
    await this.addServers(1);
    await this.meet();
  }

  /** Moves slots, while they are in use, until every master has the same number. */
  async rebalance(): Promise<void> {
    const address = `127.0.0.1:${this.master(0).port}`;
    await promisify(execFile)('redis-cli', [
      '--cluster',
      'rebalance',
      address,
      '--cluster-use-empty-masters',
    ]);
  }

  /** Resolves when the replica of a master has taken its place. */
  async replaced(master: RedisServer): Promise<void> {
    const replica = this.replicas.get(master);
    if (replica === undefined) throw new Error('This master has no replica.');
    await until(async () => {
      const role = await this.admin(replica).call('ROLE');
      return Array.isArray(role) && role[0] === 'master' ? true : undefined;
    });
  }

  /** Resolves when a server serves no slots because no server covers some of them. */
  async down(server: RedisServer): Promise<void> {
    await until(async () => {
      const info = String(await this.admin(server).call('CLUSTER', 'INFO'));
      return info.includes('cluster_state:fail') ? true : undefined;
    });
  }

  async dispose(): Promise<void> {
    for (const admin of this.admins.values()) admin.disconnect();
    await Promise.all(this.servers.map((server) => server.dispose()));
  }

  private async addServers(count: number): Promise<readonly RedisServer[]> {
    const { tls, hostname } = this.options;
    const server = {
      cluster: true,
      appendOnly: true,
      ...(tls && { tls }),
      ...(hostname !== undefined && { hostname }),
    };
    const added = await Promise.all(Array.from({ length: count }, () => RedisServer.create(server)));
    this.servers.push(...added);
    return added;
  }

  /** Introduces all servers to one another. */
  private async meet(): Promise<void> {
    const [first, ...others] = this.servers;
    if (first === undefined) return;
    for (const { port, busPort } of others) {
      await this.admin(first).call('CLUSTER', 'MEET', '127.0.0.1', port, busPort);
    }
    await Promise.all(this.servers.map((server) => this.joined(server)));
  }

  private async joined(server: RedisServer): Promise<void> {
    await until(async () => {
      const info = String(await this.admin(server).call('CLUSTER', 'INFO'));
      const nodes = String(await this.admin(server).call('CLUSTER', 'NODES'))
        .trim()
        .split('\n');
      const { hostname = '' } = this.options;
      const known = nodes.filter(
        (line) => !/handshake|noaddr|fail/.test(line) && line.includes(hostname),
      ).length;
      return info.includes('cluster_state:ok') && known === this.servers.length ? true : undefined;
    });
  }

  private async follow(server: RedisServer, master: RedisServer): Promise<void> {
    this.replicas.set(master, server);
    await this.admin(server).call('CLUSTER', 'REPLICATE', await this.idOf(master));
    await until(async () => {
      const info = await this.admin(server).info('replication');
      return info.includes('master_link_status:up') ? true : undefined;
    });
    // The other servers have to know the replica before they can elect it.
    await until(async () => {
      const nodes = String(await this.admin(master).call('CLUSTER', 'NODES'));
      return nodes.includes(`:${server.port}@`) && lineOf(nodes, server).includes('slave') ? true : undefined;
    });
  }

  private async idOf(server: RedisServer): Promise<string> {
    return String(await this.admin(server).call('CLUSTER', 'MYID'));
  }
}

function lineOf(nodes: string, { port }: RedisServer): string {
  return nodes.split('\n').find((line) => line.includes(`:${port}@`)) ?? '';
}

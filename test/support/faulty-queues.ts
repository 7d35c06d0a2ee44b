import { Redis } from 'ioredis';
import pg from 'pg';
import { Mutex } from '../../src/shared/mutex.js';
import { PgBouncer } from './pgbouncer.js';
import { PostgresServer } from './postgres-server.js';
import { RedisCluster } from './redis-cluster.js';
import { DEMOTED, NO_SNAPSHOTS, OUT_OF_MEMORY, type RedisRefusal } from './redis-refusals.js';
import { RedisSentinel } from './redis-sentinel.js';
import { RedisServer } from './redis-server.js';
import { TcpProxy } from './tcp-proxy.js';
import type { TestServer } from './test-server.js';

/** Something that goes wrong for a number of milliseconds, perhaps while other faults last. */
export type Fault = (duration: number) => Promise<void>;

/** A value of the option `connection` that can be written as JSON. */
export type FaultyConnection = string | RedisCluster['connection'] | RedisSentinel['connection'];

/** A queue's servers, and the faults that they may have. */
export interface FaultyQueue {
  readonly connection: FaultyConnection;
  readonly faults: Readonly<Record<string, Fault>>;
  /** Whether another server may take the place of the one that acknowledged a message. */
  readonly hasReplicas: boolean;
  /** Repairs what overlapping faults have left behind. */
  heal(): Promise<void>;
  close(): Promise<void>;
}

/** Milliseconds between two resets of connections, or two ends of sessions, while a fault lasts. */
const INTERVAL = 250;

export async function faultyRedis(): Promise<FaultyQueue> {
  const server = await RedisServer.create({ appendOnly: true });
  const proxy = await TcpProxy.start(server);
  const admin = new Redis({ port: server.port, maxRetriesPerRequest: null });
  admin.on('error', () => undefined);
  const refusals = { OUT_OF_MEMORY, NO_SNAPSHOTS, DEMOTED };
  const refused =
    (refusal: RedisRefusal): Fault =>
    async (duration) => {
      await refusal.begin(admin, server);
      await pause(duration);
      await refusal.end(admin, server);
    };
  return {
    connection: proxy.through(server.url()),
    hasReplicas: false,
    faults: {
      ...faultsOf(server),
      ...faultsOfConnections(proxy),
      ...mapped(refusals, refused),
      'is paused for clients': async (duration) => {
        await admin.call('CLIENT', 'PAUSE', duration);
        await pause(duration);
      },
      'forgets its scripts': async () => {
        await admin.script('FLUSH');
      },
    },
    heal: async () => {
      await bringBack(server);
      for (const refusal of Object.values(refusals)) await refusal.end(admin, server);
    },
    close: async () => {
      admin.disconnect();
      await proxy.close();
      await server.dispose();
    },
  };
}

/** @param pooled whether clients go through a PgBouncer in session mode */
export async function faultyPostgres({ pooled }: { pooled: boolean }): Promise<FaultyQueue> {
  const server = await PostgresServer.create();
  const url = await server.createDatabase();
  const name = new URL(url).pathname.slice(1);
  const pooler = pooled ? await PgBouncer.start(server, 'session') : undefined;
  const proxy = await TcpProxy.start(pooler ?? server);
  const admin = (statement: string): Promise<void> => runOn(server.url(), statement);
  const endSessions = (): Promise<void> =>
    admin(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`);
  const writable = (isWritable: boolean): Promise<void> =>
    admin(`ALTER DATABASE ${name} SET default_transaction_read_only = ${isWritable ? 'off' : 'on'}`);
  const reachable = (isReachable: boolean): Promise<void> =>
    admin(`ALTER DATABASE ${name} ALLOW_CONNECTIONS ${isReachable}`);
  const switched =
    (set: (isOn: boolean) => Promise<void>): Fault =>
    async (duration) => {
      await set(false);
      await endSessions();
      await pause(duration);
      await set(true);
      await endSessions();
    };
  return {
    connection: proxy.through(url),
    hasReplicas: false,
    faults: {
      ...faultsOf(server),
      ...faultsOfConnections(proxy),
      'ends sessions': (duration) => repeated(duration, endSessions),
      'is read-only': switched(writable),
      'takes no connections': switched(reachable),
    },
    heal: async () => {
      await bringBack(server);
      await writable(true);
      await reachable(true);
      await endSessions();
    },
    close: async () => {
      await proxy.close();
      await pooler?.close();
      await server.dispose();
    },
  };
}

/** @param replicas whether each of the three masters has a replica */
export async function faultyCluster({ replicas }: { replicas: boolean }): Promise<FaultyQueue> {
  const cluster = await RedisCluster.create({ replicas });
  return { ...ofSeveral(cluster, cluster.servers), hasReplicas: replicas };
}

export async function faultySentinel(): Promise<FaultyQueue> {
  const sentinel = await RedisSentinel.create();
  return { ...ofSeveral(sentinel, [sentinel.master, sentinel.replica]), hasReplicas: true };
}

function ofSeveral(
  all: RedisCluster | RedisSentinel,
  servers: readonly RedisServer[],
): Omit<FaultyQueue, 'hasReplicas'> {
  const faults: Record<string, Fault> = {};
  for (const [index, server] of servers.entries()) {
    for (const [name, fault] of Object.entries(faultsOf(server))) faults[`server ${index} ${name}`] = fault;
  }
  const kills = Object.entries(faults).flatMap(([name, fault]) =>
    name.endsWith('is killed') ? [fault] : [],
  );
  faults['all servers are killed'] = async (duration) => {
    await Promise.all(kills.map((kill) => kill(duration)));
  };
  return {
    connection: all.connection,
    faults,
    heal: async () => {
      await Promise.all(servers.map(bringBack));
    },
    close: () => all.dispose(),
  };
}

/** Returns faults that take turns, since a server cannot be started twice. */
function faultsOf(server: TestServer): Record<string, Fault> {
  const turns = new Mutex();
  const faults: Record<string, Fault> = {
    'is killed': async (duration) => {
      await server.kill();
      await pause(duration);
      await server.start();
    },
    'is stopped': async (duration) => {
      await server.stop();
      await pause(duration);
      await server.start();
    },
    'stands still': async (duration) => {
      server.pause();
      await pause(duration);
      server.resume();
    },
    'is killed again and again': (duration) =>
      repeated(duration, async () => {
        await server.kill();
        await server.start();
      }),
  };
  return mapped(faults, (fault) => (duration) => turns.run(() => fault(duration)));
}

function faultsOfConnections(proxy: TcpProxy): Record<string, Fault> {
  return {
    'loses what is sent': async (duration) => {
      proxy.swallow(true);
      await pause(duration);
      proxy.swallow(false);
    },
    'loses what is sent over open connections': async (duration) => {
      proxy.swallowOpen();
      await pause(duration);
    },
    'resets connections': (duration) =>
      repeated(duration, () => {
        proxy.reset();
      }),
  };
}

async function bringBack(server: TestServer): Promise<void> {
  server.resume();
  await server.start();
}

async function repeated(duration: number, action: () => Promise<void> | void): Promise<void> {
  const end = performance.now() + duration;
  while (performance.now() < end) {
    await action();
    await pause(INTERVAL);
  }
}

/** Runs a statement as soon as the server accepts it. */
async function runOn(connectionString: string, statement: string): Promise<void> {
  for (;;) {
    const client = new pg.Client({ connectionString });
    client.on('error', () => undefined);
    try {
      await client.connect();
      await client.query(statement);
      return;
    } catch {
      // The server may be away because of another fault.
      await pause(INTERVAL);
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

function mapped<T>(values: Record<string, T>, change: (value: T) => Fault): Record<string, Fault> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]));
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

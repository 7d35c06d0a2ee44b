import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KeyPair } from './certificates.js';
import { GuardedChild } from './child-process.js';
import { findBinary } from './find-binary.js';
import { freePort } from './free-port.js';
import type { TestServer } from './test-server.js';

export const REDIS_DATABASES = 1000;

export interface RedisServerOptions {
  /** Keeps an append-only file, so that a kill loses nothing that was acknowledged. @default false */
  appendOnly?: boolean;
  /** Takes part in a cluster, alone until it meets other nodes. @default false */
  cluster?: boolean;
  /** If given, speaks only TLS, also with the other nodes of a cluster. */
  tls?: RedisTls;
  /** The host name that it announces to clients as a node of a cluster. @default none: it announces its address */
  hostname?: string;
}

export interface RedisTls extends KeyPair {
  ca: string;
}

/** Milliseconds that the nodes of a cluster wait for a node that does not answer. */
const NODE_TIMEOUT = 2_000;

export class RedisServer implements TestServer {
  private child: GuardedChild | undefined;

  private constructor(
    readonly port: number,
    /** Port for the other nodes of a cluster. */
    readonly busPort: number,
    /** Folder of the server's files. */
    readonly dir: string,
    private readonly options: RedisServerOptions,
  ) {}

  static get installed(): boolean {
    return findBinary('redis-server') !== undefined;
  }

  /** Starts a server that nobody else uses. */
  static async create(options: RedisServerOptions = {}): Promise<RedisServer> {
    const dir = await mkdtemp(join(tmpdir(), 'analytics-redis-'));
    const server = new RedisServer(await freePort(), await freePort(), dir, options);
    if (options.tls !== undefined) {
      const { ca, cert, key } = options.tls;
      for (const [name, text] of Object.entries({ ca, cert, key })) await writeFile(join(dir, name), text);
    }
    await server.start();
    return server;
  }

  /** @param database 0 to 999 */
  url(database = 0): string {
    return `${this.options.tls === undefined ? 'redis' : 'rediss'}://127.0.0.1:${this.port}/${database}`;
  }

  async start(): Promise<void> {
    if (this.child) return;
    const binary = findBinary('redis-server');
    if (binary === undefined) throw new Error('redis-server is not on the PATH');
    const settings: Record<string, string | number> = {
      ...(this.options.tls === undefined ? { port: this.port } : this.tlsSettings),
      bind: '127.0.0.1',
      dir: this.dir,
      save: '',
      appendonly: this.options.appendOnly === true ? 'yes' : 'no',
      // With `everysec`, Redis answers before it writes while a sync takes long, for up to two seconds.
      appendfsync: 'no',
      ...(this.options.cluster === true ? this.clusterSettings : { databases: REDIS_DATABASES }),
    };
    const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
    this.child = await GuardedChild.start(binary, args);
    await this.child.waitFor(/Ready to accept connections/);
    this.child.drain();
  }

  stop(): Promise<void> {
    return this.end('SIGTERM');
  }

  kill(): Promise<void> {
    return this.end('SIGKILL');
  }

  pause(): void {
    if (this.child) process.kill(this.child.pid, 'SIGSTOP');
  }

  resume(): void {
    if (this.child) process.kill(this.child.pid, 'SIGCONT');
  }

  async dispose(): Promise<void> {
    await this.kill();
    await rm(this.dir, { recursive: true, force: true });
  }

  private get clusterSettings(): Record<string, string | number> {
    const { hostname } = this.options;
    return {
      'cluster-enabled': 'yes',
      'cluster-port': this.busPort,
      'cluster-node-timeout': NODE_TIMEOUT,
      'repl-diskless-sync-delay': 0,
      ...(hostname !== undefined && {
        'cluster-announce-hostname': hostname,
        'cluster-preferred-endpoint-type': 'hostname',
      }),
    };
  }

  private get tlsSettings(): Record<string, string | number> {
    return {
      port: 0,
      'tls-port': this.port,
      'tls-ca-cert-file': join(this.dir, 'ca'),
      'tls-cert-file': join(this.dir, 'cert'),
      'tls-key-file': join(this.dir, 'key'),
      'tls-auth-clients': 'no',
      'tls-cluster': 'yes',
    };
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    this.resume();
    await this.child?.stop(signal);
    this.child = undefined;
  }
}

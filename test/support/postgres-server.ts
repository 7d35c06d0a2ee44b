import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify, types } from 'node:util';
import pg from 'pg';
import { GuardedChild, type ChildOptions } from './child-process.js';
import { findBinary } from './find-binary.js';
import { freePort } from './free-port.js';
import { copyFolder, original } from './originals.js';
import type { TestServer } from './test-server.js';

/** Where Debian and Ubuntu keep programs that are not on the PATH: a folder for each major version. */
const VERSIONS_DIR = '/usr/lib/postgresql';

const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  fsync: 'off',
  // Kept in the server's own folder, so that a kill leaves nothing behind elsewhere.
  dynamic_shared_memory_type: 'mmap',
  max_connections: '200',
};

export class PostgresServer implements TestServer {
  private child: GuardedChild | undefined;
  private databases = 0;
  private isPaused = false;

  private constructor(
    readonly port: number,
    private readonly dir: string,
    private readonly binary: string,
    private readonly account: ChildOptions,
  ) {}

  static get installed(): boolean {
    return findPostgres() !== undefined;
  }

  /** Creates and starts a server that nobody else uses. */
  static async create(): Promise<PostgresServer> {
    const binary = findPostgres();
    if (binary === undefined) throw new Error(`postgres is neither on the PATH nor in ${VERSIONS_DIR}`);
    const account = { ...unprivilegedAccount(), cwd: dirname(binary) };
    const dir = await mkdtemp(join(tmpdir(), 'analytics-postgres-'));
    await chownTo(dir, account);
    await copyFolder(
      await original('postgres', (folder) => initialize(folder, binary, account)),
      dir,
      account,
    );
    const server = new PostgresServer(await freePort(), dir, binary, account);
    await server.start();
    return server;
  }

  url(database = 'postgres'): string {
    return `postgres://postgres@127.0.0.1:${this.port}/${database}`;
  }

  /** Creates an empty database, and resolves to its URL. */
  async createDatabase(): Promise<string> {
    const name = `test_${++this.databases}`;
    const client = new pg.Client({ connectionString: this.url() });
    await client.connect();
    await client.query(`CREATE DATABASE ${name}`);
    await client.end();
    return this.url(name);
  }

  /** Requires a password from these roles from now on. All others still connect without a password. */
  async askForPassword(...roles: string[]): Promise<void> {
    const client = new pg.Client({ connectionString: this.url() });
    await client.connect();
    const { rows } = await client.query<{ path: string }>("SELECT current_setting('hba_file') AS path");
    const hosts = [...roles.map((role) => `${role} 127.0.0.1/32 scram-sha-256`), 'all 127.0.0.1/32 trust'];
    const lines = hosts.map((host) => `SELECT 'host all ${host}'`).join(' UNION ALL ');
    await client.query(`COPY (${lines}) TO '${rows[0]?.path}'`);
    await client.query('SELECT pg_reload_conf()');
    await client.end();
  }

  async start(): Promise<void> {
    if (this.child) return;
    const settings = Object.entries({ ...SETTINGS, port: this.port });
    const args = settings.flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    this.child = await GuardedChild.start(this.binary, ['-D', this.dir, ...args], this.account);
    await this.child.waitFor(/database system is ready to accept connections/);
    this.child.drain();
  }

  /** Stops the server without waiting for its clients to disconnect. */
  async stop(): Promise<void> {
    this.resume();
    // SIGINT is PostgreSQL's fast shutdown. On SIGTERM, the server would wait for its clients.
    await this.child?.stop('SIGINT');
    this.child = undefined;
  }

  async kill(): Promise<void> {
    this.signal('SIGKILL');
    this.isPaused = false;
    await this.child?.exited;
    this.child = undefined;
  }

  pause(): void {
    // Twice, since the server may start a process for another client before it is stopped itself.
    for (let n = 0; n < 2; n++) this.signal('SIGSTOP');
    this.isPaused = true;
  }

  resume(): void {
    // Finding the server's processes takes tens of milliseconds, during which the tests stand still.
    if (!this.isPaused) return;
    this.signal('SIGCONT');
    this.isPaused = false;
  }

  async dispose(): Promise<void> {
    await this.kill();
    await rm(this.dir, { recursive: true, force: true });
  }

  /** Sends a signal to the server and to the process of each client. */
  private signal(signal: NodeJS.Signals): void {
    if (!this.child) return;
    const { stdout } = spawnSync('pgrep', ['-P', String(this.child.pid)], { encoding: 'utf8' });
    for (const pid of [this.child.pid, ...stdout.split('\n').filter(Boolean).map(Number)]) {
      try {
        process.kill(pid, signal);
      } catch (error) {
        // The process ends if its client disconnects in between.
        if (!(types.isNativeError(error) && 'code' in error && error.code === 'ESRCH')) throw error;
      }
    }
  }
}

async function initialize(folder: string, binary: string, account: ChildOptions): Promise<string> {
  await chownTo(folder, account);
  const dir = join(folder, 'data');
  const options = ['--pgdata', dir, '--username', 'postgres', '--auth', 'trust', '--no-sync'];
  const encoding = ['--encoding', 'UTF8', '--locale', 'C'];
  await promisify(execFile)(join(dirname(binary), 'initdb'), [...options, ...encoding], account);
  return dir;
}

async function chownTo(folder: string, { uid, gid }: ChildOptions): Promise<void> {
  if (uid !== undefined && gid !== undefined) await chown(folder, uid, gid);
}

/** Returns the path of the program itself, with links followed: the other programs of its version lie next to it. */
function findPostgres(): string | undefined {
  const versions = existsSync(VERSIONS_DIR) ? readdirSync(VERSIONS_DIR).sort().reverse() : [];
  const path = findBinary(
    'postgres',
    versions.map((version) => join(VERSIONS_DIR, version, 'bin')),
  );
  return path === undefined ? undefined : realpathSync(path);
}

/** Returns the account of PostgreSQL's package if the tests run as root, which PostgreSQL refuses. */
export function unprivilegedAccount(): ChildOptions {
  if (process.getuid?.() !== 0) return {};
  const id = (option: string): number =>
    Number(execFileSync('id', [option, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

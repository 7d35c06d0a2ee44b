import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GuardedChild } from './child-process.js';
import { findBinary } from './find-binary.js';
import { freePort } from './free-port.js';
import { unprivilegedAccount } from './postgres-server.js';

/** For how long a client gets a session of the server. */
export type PoolMode = 'session' | 'transaction' | 'statement';

/** A real PgBouncer in front of a server. */
export class PgBouncer {
  private constructor(
    private readonly child: GuardedChild,
    private readonly dir: string,
    readonly port: number,
  ) {}

  static get installed(): boolean {
    return findPgBouncer() !== undefined;
  }

  /** @param poolSize most sessions that it opens on the server for a user of a database */
  static async start(server: { readonly port: number }, mode: PoolMode, poolSize = 20): Promise<PgBouncer> {
    const binary = findPgBouncer();
    if (binary === undefined) throw new Error('pgbouncer is not on the PATH');
    const account = unprivilegedAccount();
    const dir = await mkdtemp(join(tmpdir(), 'analytics-pgbouncer-'));
    const config = join(dir, 'pgbouncer.ini');
    const port = await freePort();
    const settings = {
      listen_addr: '127.0.0.1',
      listen_port: port,
      unix_socket_dir: '',
      auth_type: 'any',
      pool_mode: mode,
      default_pool_size: poolSize,
      server_login_retry: 1,
    };
    await writeFile(
      config,
      [
        '[databases]',
        `* = host=127.0.0.1 port=${server.port} user=postgres`,
        '[pgbouncer]',
        ...Object.entries(settings).map(([name, value]) => `${name} = ${value}`),
      ].join('\n'),
    );
    if (account.uid !== undefined && account.gid !== undefined) {
      await chown(dir, account.uid, account.gid);
      await chown(config, account.uid, account.gid);
    }
    const child = await GuardedChild.start(binary, [config], { ...account, cwd: dir });
    await child.waitFor(/process up/);
    child.drain();
    return new PgBouncer(child, dir, port);
  }

  /** Returns the URL of the server with the port of this PgBouncer. */
  through(url: string): string {
    const pooled = new URL(url);
    pooled.port = String(this.port);
    return pooled.href;
  }

  async close(): Promise<void> {
    await this.child.stop('SIGKILL');
    await rm(this.dir, { recursive: true, force: true });
  }
}

function findPgBouncer(): string | undefined {
  return findBinary('pgbouncer', ['/usr/sbin']);
}

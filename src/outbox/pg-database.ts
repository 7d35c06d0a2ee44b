import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import type { Notification, Pool as PgPool } from 'pg';
import type { OutboxDatabase } from '../options/outbox-options.interface.js';
import { importPg, ownSettings, type PostgresSettings, preparing } from '../queue/postgres/postgres-pool.js';
import { PostgresSessions, READ_COMMITTED } from '../queue/postgres/session.js';
import { within } from '../shared/within.js';

/** Number of connections: one listens, and one runs statements. */
const CONNECTIONS = 2;
const CONNECT_TIMEOUT = 10_000;
/** Milliseconds without an answer after which a connection is closed. */
const QUERY_TIMEOUT = 10_000;
/** Time between two checks whether the listening connection is alive, in milliseconds. */
const HEARTBEAT = 10_000;
const LISTEN_AGAIN = 1_000;
/** Longest wait for the server to close the connections, in milliseconds. */
const END_TIMEOUT = 250;

/** The application's database on a server, used through separate connections. */
export class PgDatabase implements OutboxDatabase {
  private readonly ending = new AbortController();

  private constructor(
    private readonly pool: PgPool,
    private readonly sockets: ReadonlySet<Duplex>,
  ) {}

  /** @throws MissingPackageError */
  static async open(connection: PostgresSettings): Promise<PgDatabase> {
    const { Pool, types } = await importPg();
    const { settings, sockets } = ownSettings(connection, types);
    const sessions = new PostgresSessions();
    const pool = new Pool({
      ...settings,
      // With a stricter default isolation, relays that claim rows at the same time make each other's statements fail.
      ...preparing((client) => sessions.open(client, READ_COMMITTED)),
      max: CONNECTIONS,
      connectionTimeoutMillis: CONNECT_TIMEOUT,
      query_timeout: QUERY_TIMEOUT,
    });
    // The user of a client notices its loss when a statement fails.
    pool.on('error', () => undefined);
    pool.on('connect', (client) => {
      client.on('error', () => undefined);
    });
    return new PgDatabase(pool, sockets);
  }

  query(text: string, values: unknown[]): Promise<{ rows: unknown[] }> {
    return this.pool.query(text, values);
  }

  listen(channel: string, callback: (payload?: string) => void): Promise<() => Promise<void>> {
    const work = this.keepListening(channel, callback);
    return Promise.resolve(() => {
      this.ending.abort();
      return work;
    });
  }

  /** Closes the connections, even if the server hangs. */
  async close(timeout = END_TIMEOUT): Promise<void> {
    this.ending.abort();
    await within(timeout, this.pool.end());
    for (const socket of this.sockets) socket.destroy();
  }

  private async keepListening(channel: string, callback: (payload?: string) => void): Promise<void> {
    const { signal } = this.ending;
    while (!signal.aborted) {
      try {
        await this.listenOnce(channel, callback, signal);
      } catch {
        // The table is polled meanwhile. If polling fails as well, that is logged.
      }
      await pause(LISTEN_AGAIN, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** Listens until the connection is lost or the signal is aborted. Rejects if it cannot begin to listen. */
  private async listenOnce(
    channel: string,
    callback: (payload?: string) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const client = await this.pool.connect();
    const lost = new AbortController();
    const lose = (): void => {
      lost.abort();
    };
    const heartbeat = setInterval(() => {
      client.query('SELECT 1').catch(lose);
    }, HEARTBEAT).unref();
    const notified = ({ payload }: Notification): void => {
      callback(payload);
    };
    try {
      client.on('notification', notified).on('error', lose).on('end', lose);
      await client.query(`LISTEN "${channel}"`);
      // Rows that were committed before are found as well.
      callback();
      const ended = AbortSignal.any([signal, lost.signal]);
      if (!ended.aborted) await once(ended, 'abort');
    } finally {
      clearInterval(heartbeat);
      client.release(true);
    }
  }
}

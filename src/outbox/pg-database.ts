import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import type { Notification, Pool as PgPool } from 'pg';
import type { OutboxDatabase } from '../options/outbox-options.interface.js';
import { importPg, ownSettings, type PostgresSettings, preparing } from '../queue/postgres/postgres-pool.js';
import { PostgresSessions, READ_COMMITTED } from '../queue/postgres/session.js';
import { within } from '../shared/within.js';

/** One connection listens, one works. */
const CONNECTIONS = 2;
const CONNECT_TIMEOUT = 10_000;
/** A connection that answers nothing for so long is closed, in milliseconds. */
const QUERY_TIMEOUT = 10_000;
/** How often a connection that only listens is asked for a sign of life, in milliseconds. */
const HEARTBEAT = 10_000;
const LISTEN_AGAIN = 1_000;
/** How long the server has to close its connections, in milliseconds. */
const END_TIMEOUT = 250;

/** The application's database on a server, on connections of its own. */
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
      // Where the database has a stricter default, relays that claim rows at one time make each other's statements fail.
      ...preparing((client) => sessions.open(client, READ_COMMITTED)),
      max: CONNECTIONS,
      connectionTimeoutMillis: CONNECT_TIMEOUT,
      query_timeout: QUERY_TIMEOUT,
    });
    // Whoever uses a client learns of its loss from the failing statement.
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

  /** Waits for no server that hangs. */
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
        // The table is polled meanwhile, and the failure of that is logged.
      }
      await pause(LISTEN_AGAIN, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** Rejects when the connection is lost, and resolves at the end. */
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
      // What was committed before is found as well.
      callback();
      const ended = AbortSignal.any([signal, lost.signal]);
      if (!ended.aborted) await once(ended, 'abort');
    } finally {
      clearInterval(heartbeat);
      client.release(true);
    }
  }
}

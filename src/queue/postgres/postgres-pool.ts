import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { PgPool, PgPoolClient } from 'bullmq';
import type pg from 'pg';
import type { PoolClient, PoolConfig } from 'pg';
import { MissingPackageError } from '../../errors/setup.errors.js';
import { LONGEST_TIMER } from '../../shared/clock.js';
import { within } from '../../shared/within.js';
import { SilentConnectionError } from '../queue-failure.js';
import type { QueueHealth } from '../queue-health.js';
import { ConnectionShortage } from './connection-shortage.js';
import { ownTypes } from './own-types.js';
import { PostgresSessions, sessionSettings } from './session.js';
import { bytesReadBy, SilenceWatch, type WatchedClient } from './silence-watch.js';
import { SparingPool, type SparingOptions } from './sparing-pool.js';

/** How long a query may wait for a connection before the server counts as unreachable, in milliseconds. */
const CONNECT_TIMEOUT = 10_000;
/** How many connections a pool of `pg` may open by default. */
const DEFAULT_MAX = 10;
/** How long the server has to close its connections, in milliseconds. */
const END_TIMEOUT = 250;
/** How long the server has to say what one of its processes is doing, in milliseconds. */
const INQUIRY_TIMEOUT = 3_000;

/**
 * PostgreSQL shows a session's activity to its owner: the user that logged in, who may act as another role. `RESET
 * ROLE` would go back to that role if it is the default of the user.
 */
const AS_OWNER = 'SET ROLE NONE';
const STATE = 'SELECT state FROM pg_stat_activity WHERE pid = $1';

/** What the user configured: a URL, or a pool whose settings are copied. */
export type PostgresSettings = string | PgPool;

/** A pool of this module's own. BullMQ needs a search path that a user's pool does not have. */
export interface PostgresPool {
  pool: SparingPool;
  /** Checks that each client keeps a session of its own. @throws UnsupportedQueueServerError */
  checkSession(client: PgPoolClient): Promise<void>;
}

export interface PoolUse extends SparingOptions {
  /** Settings of each session, in addition to those that all sessions need. */
  session?: Readonly<Record<string, string>>;
  /** Returns how many connections the pool may open if the user's pool may open `max`. @default as many */
  sizeFor?: (max: number) => number;
}

/** This module's own pools on a server. If the connections of one pool are silent, those of all pools are closed. */
export interface PostgresPools {
  open(use: PoolUse): PostgresPool;
  /** Ends the pools without waiting for a server that hangs. */
  close(end: () => Promise<unknown>): Promise<void>;
}

/**
 * Returns the settings of a pool of our own, and a set of its open sockets. A pool would wait forever for a server that
 * hangs. Only its sockets can be closed without the server.
 */
export function ownSettings(
  postgres: PostgresSettings,
  types: typeof pg.types,
): { settings: PoolConfig; sockets: Set<Duplex> } {
  const settings = withoutTimeoutInUrl(settingsOf(postgres));
  const sockets = new Set<Duplex>();
  const stream = (): Duplex => {
    const socket = settings.stream?.() ?? new Socket();
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    return socket;
  };
  const own = {
    binary: false,
    types: ownTypes(types),
    stream,
    keepAlive: true,
    allowExitOnIdle: true,
    // With a timeout, a statement that waits for a lock would count as failed, but still be executed later. Without a
    // value here, `pg` takes the one in its `defaults`.
    query_timeout: LONGEST_TIMER,
  };
  return { settings: { ...settings, ...own }, sockets };
}

/**
 * Returns the settings of a user's pool. The password, a text or a function that asks for a token, is not enumerable.
 */
function settingsOf(postgres: PostgresSettings): PoolConfig {
  if (typeof postgres === 'string') return { connectionString: postgres };
  if (!('options' in postgres) || typeof postgres.options !== 'object' || postgres.options === null)
    return {};
  const options: PoolConfig = postgres.options;
  return options.password === undefined ? { ...options } : { ...options, password: options.password };
}

/** Removes `query_timeout` from the URL, since a URL takes precedence over other settings. */
function withoutTimeoutInUrl({ connectionString, ...settings }: PoolConfig): PoolConfig {
  if (connectionString === undefined) return settings;
  return { ...settings, connectionString: connectionString.replace(/(?<=[?&])query_timeout=[^&#]*&?/g, '') };
}

/** Loads `pg`, an optional peer dependency. Bundlers treat an import inside a `try` as optional. */
export async function importPg(): Promise<typeof pg> {
  try {
    const module = await import('pg');
    return module.default;
  } catch (cause) {
    throw MissingPackageError.explain('pg', cause);
  }
}

export async function createPostgresPools(
  postgres: PostgresSettings,
  health: QueueHealth,
): Promise<PostgresPools> {
  const { Client, Pool, types } = await importPg();
  const { settings, sockets } = ownSettings(postgres, types);
  const sessions = new PostgresSessions();
  const pools: SparingPool[] = [];
  const shortage = new ConnectionShortage(() => pools.reduce((sum, { size }) => sum + size, 0), health);
  const watch = new SilenceWatch({
    isAtWork: (client) =>
      isAtWork(new Client({ ...settings, connectionTimeoutMillis: INQUIRY_TIMEOUT }), sessions.pidOf(client)),
    onSlow: (seconds) => {
      health.report(
        new Error(`a statement has run for ${seconds} s; \`pg_stat_activity\` shows what it waits for`),
      );
    },
    onSilent: (seconds) => {
      health.down(new SilentConnectionError(seconds));
    },
  });
  return {
    open: ({ session, sizeFor = (max) => max, ...use }) => {
      const forSession = sessionSettings(session);
      const config = poolConfig(settings, async (client) => {
        await sessions.open(client, forSession);
        sparing.opened(client);
        shortage.connected();
      });
      const max = sizeFor(Math.max(config.max ?? DEFAULT_MAX, 1));
      const pool = new Pool({ ...config, max });
      watchClients(pool, watch);
      const sparing = new SparingPool(pool, pools, use, () => {
        shortage.refused();
      });
      pools.push(sparing);
      return {
        pool: sparing,
        checkSession: (client) => sessions.check(client, forSession, () => connectAlone(new Client(config))),
      };
    },
    close: async (end) => {
      watch.stop();
      await within(END_TIMEOUT, end());
      for (const socket of sockets) socket.destroy();
    },
  };
}

function poolConfig(settings: PoolConfig, prepare: (client: PoolClient) => Promise<void>): PoolConfig {
  // A pool waits forever by default.
  const { connectionTimeoutMillis: connectTimeout = 0 } = settings;
  return {
    ...settings,
    connectionTimeoutMillis: connectTimeout > 0 ? connectTimeout : CONNECT_TIMEOUT,
    ...preparing(prepare),
  };
}

/** Returns settings with which a pool prepares each new client before anybody uses it. */
export function preparing(prepare: (client: PoolClient) => Promise<void>): PoolConfig {
  return {
    verify: (client: PoolClient, done: (error?: Error) => void) => {
      prepare(client).then(() => {
        done();
      }, done);
    },
  };
}

function watchClients(pool: pg.Pool, watch: SilenceWatch): void {
  pool.on('connect', (client) => {
    // The pool itself only listens to idle clients. Without this listener, a client in use that loses its connection
    // would end the process. Its user learns of the loss from the failing statement.
    client.on('error', () => undefined);
    watch.add(client);
  });
  pool.on('remove', (client) => {
    watch.remove(client);
  });
}

/** Connects a client outside the pool, which may be full. */
async function connectAlone(client: pg.Client): Promise<pg.Client> {
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/**
 * Asks on a separate connection whether the server is at work for another one. Resolves to `undefined` if something
 * answers, but not that question: no connection is left (for example, under the limit of a pooler), there is no
 * password for one now, or the server behind a pooler is silent.
 */
async function isAtWork(
  client: pg.Client & Pick<WatchedClient, 'connection'>,
  pid: number | undefined,
): Promise<boolean | undefined> {
  const asked = (async () => {
    await client.connect();
    await client.query(AS_OWNER);
    const { rows } = await client.query<{ state: string | null }>(STATE, [pid ?? 0]);
    if (rows[0] === undefined) return false;
    const { state } = rows[0];
    return state === null ? undefined : state !== 'idle';
  })();
  client.on('error', () => undefined);
  const answer = await within(
    INQUIRY_TIMEOUT,
    asked.catch(() => undefined),
  );
  const isAnyoneThere = bytesReadBy(client) > 0;
  void client.end().catch(() => undefined);
  return isAnyoneThere ? answer : false;
}

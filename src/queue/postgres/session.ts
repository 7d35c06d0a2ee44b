import { DEFAULT_SCHEMA, type PgPoolClient, quoteSchemaName } from 'bullmq';
import type { Client, PoolClient } from 'pg';
import { UnsupportedQueueServerError } from '../../errors/setup.errors.js';

/**
 * BullMQ's statements name no schema. They, and this module's own, rely on read committed: where a database or a role
 * has a stricter default, a worker takes a job that another one has, or is told that it lost its own.
 */
const ALWAYS = {
  search_path: quoteSchemaName(DEFAULT_SCHEMA),
  default_transaction_isolation: 'read committed',
};

/** For sessions in which only statements run that name their schema. */
export const READ_COMMITTED: SessionSettings = [['default_transaction_isolation'], ['read committed']];

/**
 * Sets up a session that belongs to this client alone, and returns its process id. With a pooler in between,
 * the client was given another id than that of the server's process. Then nothing is set before the session
 * is known to stay with its client, since the next moment it may serve another one.
 */
const OPEN = `SELECT pg_backend_pid() AS pid,
  CASE WHEN pg_backend_pid() = $1 OR $2 THEN (
    SELECT count(set_config(name, value, false)) FROM unnest($3::text[], $4::text[]) AS setting (name, value)
  ) END`;
const SET = `SELECT set_config(name, value, false) FROM unnest($1::text[], $2::text[]) AS setting (name, value)`;

/** How often two clients are compared. By chance, a pooler that shares sessions may not do so at once. */
const ROUNDS = 3;

/** Names and values of what a session is set to. */
export type SessionSettings = readonly [names: string[], values: string[]];

/** @param extra settings beside those that each session needs */
export function sessionSettings(extra: Readonly<Record<string, string>> = {}): SessionSettings {
  const all = { ...ALWAYS, ...extra };
  return [Object.keys(all), Object.values(all)];
}

/** Sets up the sessions of a server's clients, and knows whether a pooler in between keeps them apart. */
export class PostgresSessions {
  /** Whether sessions behind a pooler were found to stay with their client. */
  private areKept = false;
  private readonly pooled = new WeakSet<object>();
  private readonly pids = new WeakMap<object, number>();

  /** Prepares a new client, before anybody uses it. */
  async open(client: PoolClient, settings: SessionSettings): Promise<void> {
    const processID = 'processID' in client ? client.processID : undefined;
    const { rows } = await client.query<{ pid: number }>(OPEN, [processID ?? 0, this.areKept, ...settings]);
    const pid = rows[0]?.pid;
    if (pid === undefined) return;
    this.pids.set(client, pid);
    if (pid !== processID) this.pooled.add(client);
  }

  /** The server process that works for a client. */
  pidOf(client: object): number | undefined {
    return this.pids.get(client);
  }

  /**
   * Checks that a session stays with its client, which LISTEN and the settings need.
   *
   * @param connect opens a client of its own: a pool may have no other one
   * @throws UnsupportedQueueServerError when a pooler lends it to others in between.
   */
  async check(
    client: PgPoolClient,
    settings: SessionSettings,
    connect: () => Promise<Client>,
  ): Promise<void> {
    if (!this.pooled.has(client)) return;
    if (!this.areKept) await this.compare(client, connect);
    this.areKept = true;
    // It was opened before its session was known to stay.
    await client.query(SET, settings);
  }

  private async compare(client: PgPoolClient, connect: () => Promise<Client>): Promise<void> {
    const pids = new Set([this.pidOf(client)]);
    for (let round = 0; round < ROUNDS; round++) {
      pids.add(await pidOf(client));
      const other = await connect();
      try {
        await other.query('BEGIN').catch((cause: unknown) => {
          // A pooler may forbid transactions altogether.
          throw String(cause).includes('pooling mode') ? sharedSessions(cause) : cause;
        });
        const isShared = pids.has(await pidOf(other));
        pids.add(await pidOf(client));
        await other.query('ROLLBACK');
        if (isShared || pids.size > 1) throw sharedSessions();
      } finally {
        void other.end().catch(() => undefined);
      }
    }
  }
}

async function pidOf(client: Pick<PgPoolClient, 'query'>): Promise<number | undefined> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return rows[0]?.pid;
}

function sharedSessions(cause?: unknown): UnsupportedQueueServerError {
  return new UnsupportedQueueServerError(
    'a pooler such as PgBouncer in transaction mode is in front of its PostgreSQL, and notifications do not ' +
      'pass through it',
    'Set `pool_mode = session` for this database, or connect to the server itself.',
    { cause },
  );
}

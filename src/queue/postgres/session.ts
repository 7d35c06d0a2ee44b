import { DEFAULT_SCHEMA, type PgPoolClient, quoteSchemaName } from 'bullmq';
import type { Client, PoolClient } from 'pg';
import { UnsupportedQueueServerError } from '../../errors/setup.errors.js';

/**
 * BullMQ's statements name no schema. They and this module's own rely on read committed: if a database or a role has a
 * stricter default, a worker takes a job that another worker has, or is told that it lost its own.
 */
const ALWAYS = {
  search_path: quoteSchemaName(DEFAULT_SCHEMA),
  default_transaction_isolation: 'read committed',
};

/** Settings of sessions in which all statements name their schema. */
export const READ_COMMITTED: SessionSettings = [['default_transaction_isolation'], ['read committed']];

/**
 * Sets up a session that belongs to this client alone, and returns the id of its server process. A pooler in between
 * gives the client a different id. Then nothing is set until the session is known to stay with its client, since the
 * session may serve another client the next moment.
 */
const OPEN = `SELECT pg_backend_pid() AS pid,
  CASE WHEN pg_backend_pid() = $1 OR $2 THEN (
    SELECT count(set_config(name, value, false)) FROM unnest($3::text[], $4::text[]) AS setting (name, value)
  ) END`;
const SET = `SELECT set_config(name, value, false) FROM unnest($1::text[], $2::text[]) AS setting (name, value)`;

/** How often two clients are compared. A pooler that shares sessions may, by chance, not do so in one round. */
const ROUNDS = 3;

/** Names and values of a session's settings. */
export type SessionSettings = readonly [names: string[], values: string[]];

/** @param extra settings in addition to those that each session needs */
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

  /** Returns the id of the server process that works for a client. */
  pidOf(client: object): number | undefined {
    return this.pids.get(client);
  }

  /**
   * Checks that a session stays with its client, which LISTEN and the settings need.
   *
   * @param connect opens a second client outside the pool, which may have no other client
   * @throws UnsupportedQueueServerError when a pooler lends the session to other clients.
   */
  async check(
    client: PgPoolClient,
    settings: SessionSettings,
    connect: () => Promise<Client>,
  ): Promise<void> {
    if (!this.pooled.has(client)) return;
    if (!this.areKept) await this.compare(client, connect);
    this.areKept = true;
    // The client may have been opened before its session was known to stay. Nothing has been set then.
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
    'a pooler such as PgBouncer in transaction mode is in front of its PostgreSQL and does not pass on ' +
      'notifications',
    'Set `pool_mode = session` for this database, or connect to the server itself.',
    { cause },
  );
}

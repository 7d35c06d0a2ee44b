import type { PgPool } from 'bullmq';
import type { BacklogStore, MessageTotals } from '../backlog-store.js';

/**
 * This module's own schema beside BullMQ's in the same database. Every statement names it, since the search
 * path is BullMQ's.
 */
const SCHEMA = 'nestjs_analytics';
/** All migrations of this schema take this lock: `CREATE … IF NOT EXISTS` fails if two run at once. */
const MIGRATION_LOCK = 4_712_366_095;

const MIGRATION = `
  SELECT pg_advisory_xact_lock(${MIGRATION_LOCK});
  CREATE SCHEMA IF NOT EXISTS ${SCHEMA};
  CREATE TABLE IF NOT EXISTS ${SCHEMA}.backlog (
    destination text PRIMARY KEY,
    messages bigint NOT NULL
  ) WITH (fillfactor = 50);
  CREATE TABLE IF NOT EXISTS ${SCHEMA}.backlog_task (
    name text PRIMARY KEY,
    claimed_until timestamptz NOT NULL
  )`;

/**
 * $1 destinations, $2 messages. Rows are locked in one order, so that no two processes wait for each other.
 */
const ADD = `
  INSERT INTO ${SCHEMA}.backlog AS b (destination, messages)
  SELECT * FROM unnest($1::text[], $2::bigint[]) AS change (destination, messages) ORDER BY destination
  ON CONFLICT (destination) DO UPDATE SET messages = b.messages + excluded.messages
  RETURNING destination, messages::float8 AS messages`;

const ALL = `SELECT destination, messages::float8 AS messages FROM ${SCHEMA}.backlog WHERE messages <> 0`;

/** $1 destinations, $2 messages */
const CLEAR = `
  UPDATE ${SCHEMA}.backlog AS b SET messages = 0
  FROM unnest($1::text[], $2::bigint[]) AS known (destination, messages)
  WHERE b.destination = known.destination AND b.messages = known.messages`;

/** $1 name, $2 milliseconds */
const CLAIM = `
  INSERT INTO ${SCHEMA}.backlog_task AS t (name, claimed_until)
  VALUES ($1, clock_timestamp() + $2::double precision * interval '1 millisecond')
  ON CONFLICT (name) DO UPDATE SET claimed_until = excluded.claimed_until
  WHERE t.claimed_until <= clock_timestamp()
  RETURNING 1`;

interface TotalRow {
  destination: string;
  messages: number;
}

/** Stores the totals on the queue's PostgreSQL, server or embedded. */
export class PostgresBacklogStore implements BacklogStore {
  private migrated: Promise<unknown> | undefined;

  constructor(private readonly pool: PgPool) {}

  async add(changes: MessageTotals): Promise<Map<string, number>> {
    return totalsOf(await this.query<TotalRow>(ADD, columnsOf(changes)));
  }

  async all(): Promise<Map<string, number>> {
    return totalsOf(await this.query<TotalRow>(ALL, []));
  }

  async clear(totals: MessageTotals): Promise<void> {
    await this.query(CLEAR, columnsOf(totals));
  }

  async claim(task: string, interval: number): Promise<boolean> {
    return (await this.query(CLAIM, [task, interval])).length > 0;
  }

  private async query<R extends object>(statement: string, values: unknown[]): Promise<R[]> {
    this.migrated ??= this.pool.query(MIGRATION).catch((error: unknown) => {
      // The next statement tries again.
      this.migrated = undefined;
      throw error;
    });
    await this.migrated;
    return (await this.pool.query<R>(statement, values)).rows;
  }
}

function columnsOf(totals: MessageTotals): [string[], number[]] {
  return [[...totals.keys()], [...totals.values()]];
}

function totalsOf(rows: readonly TotalRow[]): Map<string, number> {
  return new Map(rows.map(({ destination, messages }) => [destination, messages]));
}

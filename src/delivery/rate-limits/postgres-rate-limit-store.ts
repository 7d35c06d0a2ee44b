import type { PgPool } from 'bullmq';
import { missingColumn, OwnTables, SCHEMA } from '../../queue/postgres/own-tables.js';
import { TenantTurns } from '../../shared/tenant-turns.js';
import { CREDIT, type RateLimitStore } from './rate-limit-store.js';

const TABLE = `${SCHEMA}.rate_limit`;
const NOW = `(extract(epoch FROM clock_timestamp()) * 1000)::float8`;
/** Rows that nobody has used for a day are removed when a process starts, in milliseconds. */
const LIFETIME = 86_400_000;

/**
 * Each statement takes one of the connections on which jobs are added, and keeps it for as long as it waits for a lock on its
 * table. With a limit below ten a second, each message needs one, so fewer at once would hold up many such destinations.
 */
const MOST_STATEMENTS = 4;
/** A destination asks for one part of its time after the other, so it does not matter whose it is. */
const ANYBODY = '';

/** Not logged: after a crash of the server a second of the limit is forgotten, and each write costs less. */
const TABLES = `
  CREATE UNLOGGED TABLE IF NOT EXISTS ${TABLE} (
    destination text PRIMARY KEY,
    reserved_until float8 NOT NULL,
    asked_at float8
  ) WITH (fillfactor = 50)`;

/** Tables of older versions have no such column. */
const FIRST = `
  ${missingColumn(TABLE, 'asked_at', 'float8')}
  DELETE FROM ${TABLE} WHERE reserved_until < ${NOW} - ${LIFETIME}`;

/**
 * $1 destination, $2 milliseconds, $3 credit. By the server's clock. Where it was set back since the last time, so is what it
 * has measured: all would wait until it caught up.
 */
const RESERVE = `
  INSERT INTO ${TABLE} AS r (destination, reserved_until, asked_at)
  VALUES ($1, ${NOW} - $3::float8 + $2::float8, ${NOW})
  ON CONFLICT (destination) DO UPDATE
  SET reserved_until =
      greatest(r.reserved_until - greatest(r.asked_at - ${NOW}, 0), ${NOW} - $3::float8) + $2::float8,
    asked_at = ${NOW}
  RETURNING reserved_until - $2::float8 - ${NOW} AS wait`;

const FORGET = `DELETE FROM ${TABLE} WHERE destination = $1`;

/** Shares the time of destinations on the queue's PostgreSQL. */
export class PostgresRateLimitStore implements RateLimitStore {
  private readonly tables: OwnTables;
  private readonly turns = new TenantTurns(MOST_STATEMENTS, MOST_STATEMENTS);

  constructor(pool: Pick<PgPool, 'query'>) {
    this.tables = new OwnTables(pool, TABLES, FIRST);
  }

  async reserve(destination: string, milliseconds: number): Promise<number> {
    const [row] = await this.query<{ wait: number }>(RESERVE, [destination, milliseconds, CREDIT]);
    return row?.wait ?? 0;
  }

  async forget(destination: string): Promise<void> {
    await this.query(FORGET, [destination]);
  }

  private query<R>(text: string, params: readonly unknown[]): Promise<R[]> {
    return this.turns.run(ANYBODY, () => this.tables.query<R>(text, params));
  }
}

import type { PgPool } from 'bullmq';
import { OwnTables, SCHEMA } from '../../queue/postgres/own-tables.js';
import { CREDIT, type RateLimitStore } from './rate-limit-store.js';

const TABLE = `${SCHEMA}.rate_limit`;
const NOW = `(extract(epoch FROM clock_timestamp()) * 1000)::float8`;
/** Rows that nobody has used for a day are removed when a process starts, in milliseconds. */
const LIFETIME = 86_400_000;

/** Not logged: after a crash of the server a second of the limit is forgotten, and each write costs less. */
const TABLES = `
  CREATE UNLOGGED TABLE IF NOT EXISTS ${TABLE} (
    destination text PRIMARY KEY,
    reserved_until float8 NOT NULL
  ) WITH (fillfactor = 50)`;

const DELETE_UNUSED = `DELETE FROM ${TABLE} WHERE reserved_until < ${NOW} - ${LIFETIME}`;

/** $1 destination, $2 milliseconds, $3 credit. By the server's clock. */
const RESERVE = `
  INSERT INTO ${TABLE} AS r (destination, reserved_until)
  VALUES ($1, ${NOW} - $3::float8 + $2::float8)
  ON CONFLICT (destination) DO UPDATE
  SET reserved_until = greatest(r.reserved_until, ${NOW} - $3::float8) + $2::float8
  RETURNING reserved_until - $2::float8 - ${NOW} AS wait`;

const FORGET = `DELETE FROM ${TABLE} WHERE destination = $1`;

/** Shares the time of destinations on the queue's PostgreSQL. */
export class PostgresRateLimitStore implements RateLimitStore {
  private readonly tables: OwnTables;

  constructor(pool: Pick<PgPool, 'query'>) {
    this.tables = new OwnTables(pool, TABLES, DELETE_UNUSED);
  }

  async reserve(destination: string, milliseconds: number): Promise<number> {
    const [row] = await this.tables.query<{ wait: number }>(RESERVE, [destination, milliseconds, CREDIT]);
    return row?.wait ?? 0;
  }

  async forget(destination: string): Promise<void> {
    await this.tables.query(FORGET, [destination]);
  }
}

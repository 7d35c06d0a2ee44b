import type { PgPool } from 'bullmq';
import { missingColumn, OwnTables, SCHEMA } from '../../queue/postgres/own-tables.js';
import { type Clock, SYSTEM_CLOCK } from '../../shared/clock.js';
import { TenantTurns } from '../../shared/tenant-turns.js';
import { CREDIT, type RateLimitStore } from './rate-limit-store.js';

const TABLE = `${SCHEMA}.rate_limit`;
const NOW = `(extract(epoch FROM clock_timestamp()) * 1000)::float8`;
/** Milliseconds after which unused rows are removed: a day. */
const LIFETIME = 86_400_000;
/** How often this process removes them, in milliseconds. */
const REMOVE_INTERVAL = 3_600_000;

/**
 * Most statements at once. Each takes one of the connections on which jobs are added, and keeps it while it waits for a
 * lock on its table. With a limit below ten a second, each message needs one: fewer would hold up many destinations.
 */
const MOST_STATEMENTS = 4;
/** All statements share one tenant: a destination reserves its time part by part, so the tenant does not matter. */
const ANYBODY = '';

/** `UNLOGGED` makes each write cheaper. After a crash of the server, only a second of the limit is forgotten. */
const TABLES = `
  CREATE UNLOGGED TABLE IF NOT EXISTS ${TABLE} (
    destination text PRIMARY KEY,
    reserved_until float8 NOT NULL,
    asked_at float8
  ) WITH (fillfactor = 50)`;

/** A row stays behind if its destination is deleted, or loses its limit, as well as if a process ends. */
const REMOVE_UNUSED = `DELETE FROM ${TABLE} WHERE reserved_until < ${NOW} - ${LIFETIME}`;

/** Tables of older versions have no `asked_at`. */
const FIRST = `
  ${missingColumn(TABLE, 'asked_at', 'float8')}
  ${REMOVE_UNUSED}`;

/**
 * $1 destination, $2 milliseconds, $3 credit. Uses the server's clock. If it was set back since the last time, so is
 * the reserved time: otherwise all would wait until the clock caught up.
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

/** Shares the time of destinations through the queue's PostgreSQL. */
export class PostgresRateLimitStore implements RateLimitStore {
  private readonly tables: OwnTables;
  private readonly turns = new TenantTurns(MOST_STATEMENTS, MOST_STATEMENTS);

  /** When unused rows were last removed, on the clock. */
  private removedAt: number;

  constructor(
    pool: Pick<PgPool, 'query'>,
    private readonly clock: Clock = SYSTEM_CLOCK,
  ) {
    this.tables = new OwnTables(pool, TABLES, FIRST);
    this.removedAt = clock.now();
  }

  async reserve(destination: string, milliseconds: number): Promise<number> {
    this.removeNowAndThen();
    const [row] = await this.query<{ wait: number }>(RESERVE, [destination, milliseconds, CREDIT]);
    return row?.wait ?? 0;
  }

  async forget(destination: string): Promise<void> {
    await this.query(FORGET, [destination]);
  }

  private removeNowAndThen(): void {
    const now = this.clock.now();
    if (now - this.removedAt < REMOVE_INTERVAL) return;
    this.removedAt = now;
    // If the server is away, they are removed an hour later.
    this.query(REMOVE_UNUSED, []).catch(() => undefined);
  }

  private query<R>(text: string, params: readonly unknown[]): Promise<R[]> {
    return this.turns.run(ANYBODY, () => this.tables.query<R>(text, params));
  }
}

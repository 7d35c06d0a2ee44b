import type { PgPool } from 'bullmq';
import { OwnTables, SCHEMA } from '../../queue/postgres/own-tables.js';
import { type Clock, SYSTEM_CLOCK, type Timer } from '../../shared/clock.js';
import { LIVE_LIMITS, type LiveFeed, type NumberedEvent } from '../live-feed.js';

const SCOPES = `${SCHEMA}.live_scopes`;
const EVENTS = `${SCHEMA}.live_events`;
const NOW = 'clock_timestamp()';

/** Earliest time of an event that is shown, by the server's clock. */
const OLDEST = `${NOW} - interval '${LIVE_LIMITS.eventLifetime} milliseconds'`;

/** Scans the events of all scopes. */
const DELETE_OLD = `DELETE FROM ${EVENTS} WHERE at < ${OLDEST}`;

/** Milliseconds for which the numbers of a scope continue after it was last watched: a day. */
const NUMBER_LIFETIME = 86_400_000;

const FORGET_SCOPES = `
  DELETE FROM ${SCOPES} WHERE watched_until < ${NOW} - interval '${NUMBER_LIFETIME} milliseconds'`;

/** Unlogged, so that each write costs less: after a crash of the server, nobody looks for events shown before it. */
const TABLES = `
  CREATE UNLOGGED TABLE IF NOT EXISTS ${SCOPES} (
    scope text COLLATE "C" PRIMARY KEY,
    latest bigint NOT NULL DEFAULT 0,
    watched_until timestamptz NOT NULL
  ) WITH (fillfactor = 50);
  CREATE UNLOGGED TABLE IF NOT EXISTS ${EVENTS} (
    scope text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    at timestamptz NOT NULL DEFAULT ${NOW},
    event text NOT NULL,
    PRIMARY KEY (scope, number)
  )`;

const WATCHED = `SELECT scope FROM ${SCOPES} WHERE watched_until > ${NOW}`;

/** $1 scope. Every stream runs this statement every few seconds, so it reads no events of other scopes. */
const WATCH = `
  WITH removed AS (${DELETE_OLD} AND scope = $1)
  INSERT INTO ${SCOPES} AS s (scope, watched_until)
  VALUES ($1, ${NOW} + interval '${LIVE_LIMITS.watchTime} milliseconds')
  ON CONFLICT (scope) DO UPDATE SET watched_until = excluded.watched_until
  RETURNING s.latest::text AS latest`;

/** $1 scope, $2 skipped events, $3 events. The row of the scope is locked, so numbers appear in their order. */
const APPEND = `
  WITH watched AS (
    UPDATE ${SCOPES} SET latest = latest + $2::int + cardinality($3::text[])
    WHERE scope = $1 AND watched_until > ${NOW}
    RETURNING latest
  ), removed AS (
    DELETE FROM ${EVENTS} e USING watched w
    WHERE e.scope = $1 AND e.number <= w.latest - ${LIVE_LIMITS.keptEvents}
  )
  INSERT INTO ${EVENTS} (scope, number, event)
  SELECT $1, w.latest - cardinality($3::text[]) + list.number, list.event
  FROM watched w, unnest($3::text[]) WITH ORDINALITY AS list (event, number)`;

/** $1 scope, $2 number of the event to start after. */
const READ = `
  SELECT number::text AS number, event FROM ${EVENTS}
  WHERE scope = $1 AND number > $2 AND at >= ${OLDEST} ORDER BY number LIMIT ${LIVE_LIMITS.readEvents}`;

/** The latest events on the queue's PostgreSQL. */
export class PostgresLiveFeed implements LiveFeed {
  private readonly tables: OwnTables;
  private removal: Timer | undefined;
  /** When old events and scopes were last removed, on the clock. */
  private removedAt: number;

  constructor(
    pool: Pick<PgPool, 'query'>,
    private readonly clock: Clock = SYSTEM_CLOCK,
  ) {
    this.tables = new OwnTables(pool, TABLES, DELETE_OLD);
    this.removedAt = clock.now();
  }

  async watched(): Promise<string[]> {
    this.removeNowAndThen();
    const rows = await this.tables.look<{ scope: string }>(SCOPES, WATCHED, []);
    return rows.map(({ scope }) => scope);
  }

  async watch(scope: string): Promise<number> {
    this.removeNowAndThen();
    const [row] = await this.tables.query<{ latest: string }>(WATCH, [scope]);
    this.removeLater();
    return Number(row?.latest ?? 0);
  }

  async append(scope: string, events: readonly string[], skipped: number): Promise<void> {
    await this.tables.query(APPEND, [scope, skipped, events]);
  }

  async read(scope: string, after: number): Promise<NumberedEvent[]> {
    const rows = await this.tables.query<{ number: string; event: string }>(READ, [scope, after]);
    return rows.map(({ number, event }) => ({ number: Number(number), event }));
  }

  /** Removes what is old, at most once per `eventLifetime`: the process that would have removed them may have ended. */
  private removeNowAndThen(): void {
    if (this.clock.now() - this.removedAt >= LIVE_LIMITS.eventLifetime) this.remove();
  }

  /** Removes old events later, so that they do not stay when nobody watches any more. */
  private removeLater(): void {
    this.removal?.cancel();
    this.removal = this.clock.afterUnlessIdle(LIVE_LIMITS.eventLifetime + LIVE_LIMITS.watchTime, () => {
      this.remove();
    });
  }

  private remove(): void {
    this.removedAt = this.clock.now();
    // If the server is away, a later call of `watched` or `watch` removes them.
    this.removeOld().catch(() => undefined);
  }

  /** In two statements: `WATCH` locks rows of the scopes first, and one statement would lock those of the events first. */
  private async removeOld(): Promise<void> {
    await this.tables.look(EVENTS, DELETE_OLD, []);
    await this.tables.look(SCOPES, FORGET_SCOPES, []);
  }
}

import type { PgPool } from 'bullmq';
import type { BacklogStore, MessageTotals } from '../backlog-store.js';
import { OwnTables, SCHEMA, WITHOUT_SYNC } from './own-tables.js';

const TABLES = `
  CREATE TABLE IF NOT EXISTS ${SCHEMA}.backlog (
    destination text PRIMARY KEY,
    messages bigint NOT NULL
  ) WITH (fillfactor = 50);
  CREATE TABLE IF NOT EXISTS ${SCHEMA}.backlog_task (
    name text PRIMARY KEY,
    claimed_until timestamptz NOT NULL
  )`;

/** $1 destinations, $2 messages. Rows are locked in a fixed order, so that processes cannot deadlock. */
const ADD = `
  INSERT INTO ${SCHEMA}.backlog AS b (destination, messages)
  SELECT * FROM unnest($1::text[], $2::bigint[]) AS change (destination, messages)
  WHERE ${WITHOUT_SYNC} ORDER BY destination
  ON CONFLICT (destination) DO UPDATE SET messages = b.messages + excluded.messages
  RETURNING destination, messages::float8 AS messages`;

const ALL = `SELECT destination, messages::float8 AS messages FROM ${SCHEMA}.backlog WHERE messages <> 0`;

const WAITING = `
  SELECT coalesce(sum(messages), 0)::float8 AS messages FROM ${SCHEMA}.backlog WHERE messages > 0`;

/** $1 destinations, $2 messages. Rows are locked in the same order. */
const CLEAR = `
  WITH unchanged AS (
    SELECT b.destination FROM ${SCHEMA}.backlog AS b
    JOIN unnest($1::text[], $2::bigint[]) AS known (destination, messages)
      ON b.destination = known.destination AND b.messages = known.messages
    ORDER BY b.destination FOR UPDATE OF b
  )
  UPDATE ${SCHEMA}.backlog AS b SET messages = 0 FROM unchanged WHERE b.destination = unchanged.destination`;

/**
 * Skips locked rows, so that processes cannot deadlock. A process that waits for a removed row adds it again. Rows are
 * not removed as soon as they are 0: those of busy destinations reach 0 again and again.
 */
const TIDY = `
  WITH unused AS (
    SELECT destination FROM ${SCHEMA}.backlog WHERE messages = 0 FOR UPDATE SKIP LOCKED
  )
  DELETE FROM ${SCHEMA}.backlog AS b USING unused WHERE b.destination = unused.destination`;

/** $1 name, $2 milliseconds. A claim that ends much later than that was made before the clock was set back. */
const CLAIM = `
  INSERT INTO ${SCHEMA}.backlog_task AS t (name, claimed_until)
  VALUES ($1, clock_timestamp() + $2::double precision * interval '1 millisecond')
  ON CONFLICT (name) DO UPDATE SET claimed_until = excluded.claimed_until
  WHERE t.claimed_until <= clock_timestamp()
    OR t.claimed_until > clock_timestamp() + 2 * $2::double precision * interval '1 millisecond'
  RETURNING 1`;

interface TotalRow {
  destination: string;
  messages: number;
}

/** Stores the totals on the queue's PostgreSQL, server or embedded. */
export class PostgresBacklogStore implements BacklogStore {
  private readonly tables: OwnTables;

  constructor(pool: Pick<PgPool, 'query'>) {
    this.tables = new OwnTables(pool, TABLES);
  }

  async add(changes: MessageTotals): Promise<Map<string, number>> {
    return totalsOf(await this.tables.query<TotalRow>(ADD, columnsOf(changes)));
  }

  async all(): Promise<Map<string, number>> {
    return totalsOf(await this.tables.query<TotalRow>(ALL, []));
  }

  async waiting(): Promise<number> {
    const [row] = await this.tables.query<Pick<TotalRow, 'messages'>>(WAITING, []);
    return row?.messages ?? 0;
  }

  async clear(totals: MessageTotals): Promise<void> {
    await this.tables.query(CLEAR, columnsOf(totals));
  }

  async tidy(): Promise<void> {
    await this.tables.query(TIDY, []);
  }

  async claim(task: string, interval: number): Promise<boolean> {
    return (await this.tables.query(CLAIM, [task, interval])).length > 0;
  }
}

function columnsOf(totals: MessageTotals): [string[], number[]] {
  return [[...totals.keys()], [...totals.values()]];
}

function totalsOf(rows: readonly TotalRow[]): Map<string, number> {
  return new Map(rows.map(({ destination, messages }) => [destination, messages]));
}

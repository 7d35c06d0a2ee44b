import { missingIndex, OwnTables, SCHEMA } from '../queue/postgres/own-tables.js';
import type { QueueStorage } from '../queue/queue-backend.js';
import { chunksOf } from '../shared/chunks.js';
import { DeletionLookups } from './deletion-lookups.js';
import { type Deletion, DELETION_MEMORY, type DeletionStore } from './deletion-store.js';

const TABLE = `${SCHEMA}.deletion`;
const TABLES = `
  CREATE TABLE IF NOT EXISTS ${TABLE} (
    user_key text COLLATE "C" PRIMARY KEY,
    deleted_at bigint NOT NULL,
    task text
  );
  ${missingIndex('deletion_time', `${TABLE} (deleted_at)`)}
  ${missingIndex('deletion_task', `${TABLE} (deleted_at) WHERE task IS NOT NULL`)}`;

/** $1 keys of deletions, $2 times, $3 tasks. Locks rows in one order, so that no two processes wait for each other. */
const ADD = `
  INSERT INTO ${TABLE} AS d (user_key, deleted_at, task)
  SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[]) AS given (user_key) ORDER BY user_key COLLATE "C"
  ON CONFLICT (user_key) DO UPDATE
  SET deleted_at = greatest(d.deleted_at, excluded.deleted_at),
    task = CASE
      WHEN excluded.task = ANY (string_to_array(d.task, chr(10))) THEN d.task
      ELSE concat_ws(chr(10), d.task, excluded.task)
    END`;

/** Takes the same parameters as `ADD`, and locks rows in the same order. */
const DONE = `
  WITH done AS (
    SELECT d.user_key FROM ${TABLE} AS d
    JOIN unnest($1::text[], $2::bigint[], $3::text[]) AS given (user_key, deleted_at, task)
      ON d.user_key = given.user_key AND d.deleted_at = given.deleted_at AND d.task = given.task
    ORDER BY d.user_key FOR UPDATE OF d
  )
  UPDATE ${TABLE} AS d SET task = NULL FROM done WHERE d.user_key = done.user_key`;

/** $1 how many, $2 time and $3 key of the deletion before the first. */
const PENDING = `
  SELECT d.user_key, d.deleted_at::text, d.task FROM ${TABLE} AS d
  WHERE d.task IS NOT NULL AND (d.deleted_at, d.user_key) > ($2::bigint, $3::text)
  ORDER BY d.deleted_at, d.user_key LIMIT $1`;

/** $1 keys of deletions */
const FIND = `SELECT user_key, deleted_at::text FROM ${TABLE} WHERE user_key = ANY ($1::text[])`;

/** Maximum number of keys in a query. Many callers share a look-up; others get the database between its queries. */
const MOST_KEYS = 10_000;
/**
 * How long a look-up waits for its turn, in milliseconds: as long as for a connection. Meanwhile, the job that needs
 * the look-up keeps its place in the worker.
 */
const PATIENCE = 10_000;

interface DeletionRow {
  user_key: string;
  deleted_at: string;
  task: string;
}

/** Stores deletions on the queue's PostgreSQL, server or embedded. Rows have a `task` until it is carried out. */
export class PostgresDeletionStore implements DeletionStore {
  private readonly tables: OwnTables;
  private readonly lookups: DeletionLookups;

  /** @param patience how long a look-up waits for its turn, in milliseconds */
  constructor(pool: Extract<QueueStorage, { kind: 'postgres' }>['pool'], patience = PATIENCE) {
    this.tables = new OwnTables(pool, TABLES);
    this.lookups = new DeletionLookups((keys) => this.look(keys), patience);
  }

  async add(deletions: readonly Deletion[]): Promise<void> {
    await this.tables.query(`DELETE FROM ${TABLE} WHERE deleted_at < $1 AND task IS NULL`, [
      Date.now() - DELETION_MEMORY,
    ]);
    await this.tables.query(ADD, columnsOf(deletions));
  }

  find(keys: readonly string[]): Promise<Map<string, number>> {
    return this.lookups.find(keys);
  }

  pending(limit: number): Promise<Deletion[]> {
    return this.pendingAfter(undefined, limit);
  }

  async *pages(limit: number): AsyncGenerator<Deletion[], void> {
    let page: Deletion[];
    let last: Deletion | undefined;
    do {
      page = await this.pendingAfter(last, limit);
      last = page.at(-1);
      if (page.length > 0) yield page;
    } while (page.length === limit);
  }

  async done(deletions: readonly Deletion[]): Promise<void> {
    await this.tables.query(DONE, columnsOf(deletions));
  }

  private async look(keys: readonly string[]): Promise<Map<string, number>> {
    const found = new Map<string, number>();
    for (const some of chunksOf(keys, MOST_KEYS)) {
      const rows = await this.tables.look<DeletionRow>(TABLE, FIND, [some]);
      for (const { user_key: key, deleted_at: at } of rows) found.set(key, Number(at));
    }
    return found;
  }

  private async pendingAfter(last: Deletion | undefined, limit: number): Promise<Deletion[]> {
    // Before the first deletion there is no table.
    const rows = await this.tables.look<DeletionRow>(TABLE, PENDING, [
      limit,
      last?.at ?? -1,
      last?.key ?? '',
    ]);
    return rows.map(({ user_key: key, deleted_at: at, task }) => ({ key, at: Number(at), task }));
  }
}

function columnsOf(deletions: readonly Deletion[]): unknown[] {
  return [deletions.map(({ key }) => key), deletions.map(({ at }) => at), deletions.map(({ task }) => task)];
}

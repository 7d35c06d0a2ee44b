import type { PgPool } from 'bullmq';

/**
 * The schema of this module's own tables beside BullMQ's. Every statement names it, since the search path is
 * BullMQ's.
 */
export const SCHEMA = 'nestjs_analytics';

/**
 * A condition that is always true, for statements whose commits do not wait for the disk: those that only count and
 * record. While such a commit waits, so do all statements that need its rows, and all tracking. If a crash of the
 * server undoes the last of these commits, figures are missing, but no message.
 */
export const WITHOUT_SYNC = "(SELECT set_config('synchronous_commit', 'off', true)) IS NOT NULL";

/** Number of a lock that nothing else uses. `CREATE … IF NOT EXISTS` fails if two of them run at the same time. */
const MIGRATION_LOCK = 4_712_366_095;

/**
 * Returns a statement that creates an index if it is missing. `IF NOT EXISTS` alone would lock the table, and wait for
 * that lock, even if the index is there.
 */
export function missingIndex(name: string, on: string): string {
  return unless(`to_regclass('${SCHEMA}.${name}') IS NOT NULL`, `CREATE INDEX ${name} ON ${on}`);
}

/** Returns a statement that adds a column if it is missing, for the same reason as `missingIndex`. */
export function missingColumn(table: string, name: string, type: string): string {
  const column = `attrelid = '${table}'::regclass AND attname = '${name}' AND NOT attisdropped`;
  return unless(
    `EXISTS (SELECT 1 FROM pg_attribute WHERE ${column})`,
    `ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS ${name} ${type}`,
  );
}

/** Matches the tables and indexes that statements create. */
const CREATED = /CREATE (?:UNLOGGED )?TABLE IF NOT EXISTS (\S+)|CREATE INDEX (\S+) ON/g;

/** Returns the tables and indexes that statements create, with the schema. */
function namesIn(statements: string): string[] {
  return Array.from(statements.matchAll(CREATED), ([, table, index]) => table ?? `${SCHEMA}.${index}`);
}

function unless(condition: string, statement: string): string {
  return `DO $$ BEGIN IF NOT (${condition}) THEN ${statement}; END IF; END $$;`;
}

/** Resolves to those of the tables that exist. */
export async function findTables(pool: Pick<PgPool, 'query'>, tables: readonly string[]): Promise<string[]> {
  const { rows } = await pool.query<{ found: boolean; name: string }>(
    'SELECT to_regclass(name) IS NOT NULL AS found, name FROM unnest($1::text[]) AS name',
    [tables],
  );
  return Array.from(rows)
    .filter(({ found }) => found)
    .map(({ name }) => name);
}

/**
 * This module's own tables on the queue's PostgreSQL, server or embedded. They are created on first use if they are
 * missing. With `IF NOT EXISTS` alone, a role would need the right to create tables for ever.
 */
export class OwnTables {
  private prepared: Promise<unknown> | undefined;
  private isThere = false;
  private readonly complete: string;
  private readonly migration: string;

  /**
   * @param tables statements that create what is missing: `CREATE TABLE IF NOT EXISTS` and `missingIndex`
   * @param first statement that runs before the first use: it changes tables of an older version, or removes old rows.
   *   It runs without the migration lock, so that a wait for one table does not hold up processes that use others. So
   *   it has to be safe to run in several processes at once.
   */
  constructor(
    private readonly pool: Pick<PgPool, 'query'>,
    tables: string,
    private readonly first?: string,
  ) {
    const found = namesIn(tables).map((name) => `to_regclass('${name}') IS NOT NULL`);
    this.complete = `SELECT ${found.join(' AND ')} AS found`;
    this.migration = `
      SELECT pg_advisory_xact_lock(${MIGRATION_LOCK});
      ${unless(`to_regnamespace('${SCHEMA}') IS NOT NULL`, `CREATE SCHEMA ${SCHEMA}`)}
      ${tables}`;
  }

  /** Like `query`, but if a table does not exist yet, the result is empty and the table is not created. */
  async look<R>(table: string, text: string, params: readonly unknown[]): Promise<R[]> {
    // A table that was there before and is missing now was removed. An empty result would say that nothing was stored.
    if (!this.isThere) {
      const isFound = await this.isFound(`SELECT to_regclass('${table}') IS NOT NULL AS found`);
      this.isThere ||= isFound;
      if (!this.isThere) return [];
    }
    return this.query(text, params);
  }

  async query<R>(text: string, params: readonly unknown[]): Promise<R[]> {
    this.prepared ??= this.prepare();
    try {
      await this.prepared;
      this.isThere = true;
    } catch (error) {
      // If the server was away, the next call tries again.
      this.prepared = undefined;
      throw error;
    }
    return (await this.pool.query<R>(text, params)).rows;
  }

  private async prepare(): Promise<void> {
    if (!(await this.isFound(this.complete))) await this.pool.query(this.migration);
    if (this.first !== undefined) await this.pool.query(this.first);
  }

  private async isFound(question: string): Promise<boolean> {
    const { rows } = await this.pool.query<{ found: boolean }>(question);
    return rows[0]?.found === true;
  }
}

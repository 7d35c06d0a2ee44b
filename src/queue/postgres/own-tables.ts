import type { PgPool } from 'bullmq';

/**
 * The schema of this module's own tables beside BullMQ's. Every statement names it, since the search path is
 * BullMQ's.
 */
export const SCHEMA = 'nestjs_analytics';

/**
 * Always true, and a condition of statements whose commits do not wait for the disk: those that only count and record.
 * While such a commit waits, so do all that want its rows, and what is tracked. If a crash of the server undoes the last
 * of them, figures are missing, and no message.
 */
export const WITHOUT_SYNC = "(SELECT set_config('synchronous_commit', 'off', true)) IS NOT NULL";

/**
 * A lock number that nothing else uses: `CREATE … IF NOT EXISTS` fails if two of them run at the same time.
 */
const MIGRATION_LOCK = 4_712_366_095;

/** Creates an index, unless it is there: `IF NOT EXISTS` would lock its table all the same, and wait for that. */
export function missingIndex(name: string, on: string): string {
  return unless(`to_regclass('${SCHEMA}.${name}') IS NOT NULL`, `CREATE INDEX ${name} ON ${on}`);
}

/** Adds a column, unless it is there. As above. */
export function missingColumn(table: string, name: string, type: string): string {
  const column = `attrelid = '${table}'::regclass AND attname = '${name}' AND NOT attisdropped`;
  return unless(
    `EXISTS (SELECT 1 FROM pg_attribute WHERE ${column})`,
    `ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS ${name} ${type}`,
  );
}

/** What the statements above create, and `CREATE TABLE IF NOT EXISTS`. */
const CREATED = /CREATE (?:UNLOGGED )?TABLE IF NOT EXISTS (\S+)|CREATE INDEX (\S+) ON/g;

/** The tables and indexes that statements create, with the schema. */
function namesIn(statements: string): string[] {
  return Array.from(statements.matchAll(CREATED), ([, table, index]) => table ?? `${SCHEMA}.${index}`);
}

function unless(condition: string, statement: string): string {
  return `DO $$ BEGIN IF NOT (${condition}) THEN ${statement}; END IF; END $$;`;
}

/** Those of some tables that are there. */
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
 * This module's own tables on the queue's PostgreSQL, server or embedded. Created on first use, where they are not
 * there: with `IF NOT EXISTS` alone, a role would need the right to create them for ever.
 */
export class OwnTables {
  private prepared: Promise<unknown> | undefined;
  private isThere = false;
  private readonly complete: string;
  private readonly migration: string;

  /**
   * @param tables statements that create what is missing: `CREATE TABLE IF NOT EXISTS` and `missingIndex`
   * @param first statement that the first use runs before its own: it changes tables of an older version, or removes
   *   old rows. It has to be safe to run in several processes at once: while it waits for a table, those that use
   *   other tables must not wait for it.
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

  /** As `query`, but if a table does not exist yet, the result is empty and the table is not created. */
  async look<R>(table: string, text: string, params: readonly unknown[]): Promise<R[]> {
    // What has been there and is missing now was removed, and an empty result would say that nothing was stored.
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

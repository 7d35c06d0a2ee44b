import type { PgPool } from 'bullmq';

/**
 * The schema of this module's own tables beside BullMQ's. Every statement names it, since the search path is
 * BullMQ's.
 */
export const SCHEMA = 'nestjs_analytics';

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

function unless(condition: string, statement: string): string {
  return `DO $$ BEGIN IF NOT (${condition}) THEN ${statement}; END IF; END $$;`;
}

/** This module's own tables on the queue's PostgreSQL, server or embedded. Created on first use. */
export class OwnTables {
  private migrated: Promise<unknown> | undefined;
  private isThere = false;
  private readonly migration: string;

  /**
   * @param tables statements that create what is missing
   * @param changes one that changes tables of an older version. It has to be safe to run in several processes at
   *   once: while it waits for a table, those that use other tables must not wait for it.
   */
  constructor(
    private readonly pool: Pick<PgPool, 'query'>,
    tables: string,
    private readonly changes?: string,
  ) {
    this.migration = `
      SELECT pg_advisory_xact_lock(${MIGRATION_LOCK});
      CREATE SCHEMA IF NOT EXISTS ${SCHEMA};
      ${tables}`;
  }

  /** As `query`, but if a table does not exist yet, the result is empty and the table is not created. */
  async look<R>(table: string, text: string, params: readonly unknown[]): Promise<R[]> {
    if (!this.isThere) {
      const exists = `SELECT to_regclass('${table}') IS NOT NULL AS exists`;
      const { rows } = await this.pool.query<{ exists: boolean }>(exists);
      this.isThere = rows[0]?.exists === true;
      if (!this.isThere) return [];
    }
    return this.query(text, params);
  }

  async query<R>(text: string, params: readonly unknown[]): Promise<R[]> {
    this.migrated ??= this.migrate();
    try {
      await this.migrated;
    } catch (error) {
      // If the server was away, the next call tries again.
      this.migrated = undefined;
      throw error;
    }
    return (await this.pool.query<R>(text, params)).rows;
  }

  private async migrate(): Promise<void> {
    await this.pool.query(this.migration);
    if (this.changes !== undefined) await this.pool.query(this.changes);
  }
}

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

/** This module's own tables on the queue's PostgreSQL, server or embedded. Created on first use. */
export class OwnTables {
  private migrated: Promise<unknown> | undefined;
  private isThere = false;
  private readonly migration: string;

  /** @param tables statements that create what is missing */
  constructor(
    private readonly pool: Pick<PgPool, 'query'>,
    tables: string,
  ) {
    this.migration = `
      SELECT pg_advisory_xact_lock(${MIGRATION_LOCK});
      CREATE SCHEMA IF NOT EXISTS ${SCHEMA};
      ${tables}`;
  }

  /** As `query`, but if a table does not exist yet, the result is empty and the table is not created. */
  async look<R>(table: string, text: string, params: readonly unknown[]): Promise<R[]> {
    if (!this.isThere) {
      const exists = 'SELECT to_regclass($1) IS NOT NULL AS exists';
      const { rows } = await this.pool.query<{ exists: boolean }>(exists, [table]);
      this.isThere = rows[0]?.exists === true;
      if (!this.isThere) return [];
    }
    return this.query(text, params);
  }

  async query<R>(text: string, params: readonly unknown[]): Promise<R[]> {
    this.migrated ??= this.pool.query(this.migration);
    try {
      await this.migrated;
    } catch (error) {
      // If the server was away, the next call tries again.
      this.migrated = undefined;
      throw error;
    }
    return (await this.pool.query<R>(text, params)).rows;
  }
}

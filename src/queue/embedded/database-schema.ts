import { DEFAULT_SCHEMA, runMigrations } from 'bullmq';
import type { PGlitePool } from './pglite-pool.js';

/**
 * Migrates the database to the schema of the installed BullMQ. Runs at every start, since BullMQ may have been updated.
 * If nothing changed, this takes only a few statements.
 */
export async function migrate(pool: PGlitePool): Promise<void> {
  const client = await pool.connect();
  try {
    await runMigrations(client);
  } finally {
    client.release();
  }
  // BullMQ's statements name no schema, and the only session outlives every client.
  await pool.query(`SET search_path TO ${DEFAULT_SCHEMA}`);
}

/**
 * Removes the two template databases, which a queue never uses. They are half of the files. Since nothing vacuums them,
 * they would also exhaust the transaction ids of the whole server after two billion jobs.
 */
export async function dropTemplateDatabases(pool: PGlitePool): Promise<void> {
  await pool.query(`UPDATE pg_database SET datistemplate = false WHERE datname <> current_database()`);
  await pool.query('DROP DATABASE IF EXISTS template0');
  await pool.query('DROP DATABASE IF EXISTS template1');
  await pool.query('VACUUM FREEZE');
  await pool.query('CHECKPOINT');
}

import { DEFAULT_SCHEMA, runMigrations } from 'bullmq';
import type { PGlitePool } from './pglite-pool.js';

/**
 * Brings the database to the schema of the installed BullMQ. With nothing to do it is a handful of
 * statements, so it runs at every start: BullMQ may have been updated since the last one.
 */
export async function migrate(pool: PGlitePool): Promise<void> {
  const client = await pool.connect();
  try {
    await runMigrations(client);
  } finally {
    client.release();
  }
  // BullMQ's statements name no schema, and the one session outlives every client.
  await pool.query(`SET search_path TO ${DEFAULT_SCHEMA}`);
}

/**
 * Leaves out what a queue never uses: the two databases that new ones are copied from are half of the
 * files, and would end the transaction ids for all after two billion jobs, since nothing vacuums them.
 */
export async function dropTemplateDatabases(pool: PGlitePool): Promise<void> {
  await pool.query(`UPDATE pg_database SET datistemplate = false WHERE datname <> current_database()`);
  await pool.query('DROP DATABASE IF EXISTS template0');
  await pool.query('DROP DATABASE IF EXISTS template1');
  await pool.query('VACUUM FREEZE');
  await pool.query('CHECKPOINT');
}

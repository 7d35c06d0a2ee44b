import {
  assertSchemaCompatibility,
  LATEST_SCHEMA_VERSION,
  type PgPoolClient,
  runMigrations,
  SchemaMigrationRequiredError,
} from 'bullmq';

/**
 * Migrates BullMQ's tables to the version of the installed BullMQ if they are older or missing. Even if there is
 * nothing to do, BullMQ's migrations need the rights of the owner and lock a table: they would wait for a `pg_dump`,
 * and all other processes that start would wait for them.
 */
export async function prepareJobTables(client: PgPoolClient): Promise<void> {
  if (!(await areCurrent(client))) await runMigrations(client);
}

async function areCurrent(client: PgPoolClient): Promise<boolean> {
  try {
    return (await assertSchemaCompatibility(client)) >= LATEST_SCHEMA_VERSION;
  } catch (error) {
    if (error instanceof SchemaMigrationRequiredError) return false;
    throw error;
  }
}

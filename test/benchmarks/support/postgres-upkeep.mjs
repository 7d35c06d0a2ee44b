import pg from 'pg';

/**
 * Does what PostgreSQL would do within the next minutes, before anything is measured: frees the rows that were removed,
 * analyzes the new ones, and writes them to the disk. If autovacuum is off or late, each run would otherwise be slower
 * than the one before.
 */
export async function keepUp(connection) {
  if (typeof connection !== 'string' || !connection.startsWith('postgres')) return;
  const client = new pg.Client(connection);
  await client.connect();
  await client.query('VACUUM ANALYZE');
  await client.query('CHECKPOINT');
  await client.end();
}

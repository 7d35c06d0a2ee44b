import pg from 'pg';

/**
 * Does what PostgreSQL would do within the next minutes, before anything is measured: it frees the rows that were
 * removed, looks at the new ones, and writes them to the disk. Where autovacuum is off or late, each run would be slower
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

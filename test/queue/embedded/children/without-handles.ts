/**
 * Uses an embedded database while the process has no file handle left, gives the handles back, and prints how many
 * statements were refused. Then opens other databases without a handle, and prints why that fails.
 */
import { closeSync, openSync } from 'node:fs';
import { openEmbeddedDatabase } from '../../../../src/queue/embedded/embedded-database.js';

const [dataDir = '', durability = ''] = process.argv.slice(2);
const TABLES = Array.from({ length: 8 }, (_, n) => `table_${n}`);
const pool = await openEmbeddedDatabase({ dataDir, durability: durability === 'disk' ? 'disk' : 'process' });
for (const table of TABLES) await pool.query(`CREATE TABLE ${table} AS SELECT generate_series(1, 5000)`);

const taken: number[] = [];
function takeAll(): void {
  try {
    for (;;) taken.push(openSync('/dev/null', 'r'));
  } catch {
    // No file handle is left.
  }
}

/** Makes the database create new files: visibility maps and free space maps. Resolves to the errors. */
async function refused(): Promise<string[]> {
  const errors: string[] = [];
  for (const table of TABLES) {
    takeAll();
    await pool.query(`VACUUM ${table}`).catch((error: unknown) => errors.push(String(error)));
  }
  return errors;
}

const meanwhile = await refused();
for (const handle of taken.splice(0)) closeSync(handle);
console.log(`refused ${meanwhile.length}`);
for (const table of TABLES) {
  await pool.query(`VACUUM ${table}`);
  await pool.query(`INSERT INTO ${table} SELECT generate_series(1, 5000)`);
}
console.log('works');
takeAll();
for (const another of [`${dataDir}-of-another`, 'memory://']) {
  await openEmbeddedDatabase({ dataDir: another }).catch((error: unknown) => {
    console.log(String(error));
  });
}
process.exit();

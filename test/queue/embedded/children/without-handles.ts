/**
 * Has an embedded database work while its process has no file handle left, gives the handles back, and says what the
 * database refuses from then on. Then has others opened without a handle, and says why that fails.
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
    // There are none left.
  }
}

/** Makes new files: maps of what is visible, and of free space. */
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

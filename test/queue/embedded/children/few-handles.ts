/**
 * Has an embedded database make files while another thread takes the last file handles and gives them back all the time,
 * and says what the database refuses.
 */
import { closeSync, openSync } from 'node:fs';
import { openEmbeddedDatabase } from '../../../../src/queue/embedded/embedded-database.js';

/** File handles that both threads want. */
const LEFT = 3;
/** Fewer than fill a file of the log: PostgreSQL cannot go on where it gets no handle for the next one. */
const TABLES = 45;

const [dataDir = '', durability = ''] = process.argv.slice(2);
const pool = await openEmbeddedDatabase({ dataDir, durability: durability === 'disk' ? 'disk' : 'process' });

function takeAll(): number[] {
  const taken: number[] = [];
  try {
    for (;;) taken.push(openSync('/dev/null', 'r'));
  } catch {
    return taken;
  }
}

const errors: string[] = [];
const progress = { isOver: false };
async function makeTables(): Promise<void> {
  for (let n = 0; n < TABLES; n++)
    await pool.query(`CREATE TABLE table_${n} (n int)`).catch((error: unknown) => errors.push(String(error)));
  progress.isOver = true;
}

for (const handle of takeAll().slice(-LEFT)) closeSync(handle);
const made = makeTables();
while (!progress.isOver) {
  for (let n = 0; n < 20; n++) for (const handle of takeAll()) closeSync(handle);
  await new Promise(setImmediate);
}
await made;
console.log(`refused ${errors.length} ${errors[0] ?? ''}`.trim());
process.exit();

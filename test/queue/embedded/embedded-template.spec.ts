import { afterAll, describe, expect, it } from '@jest/globals';
import type { PgPool } from 'bullmq';
import { dropTemplateDatabases, migrate } from '../../../src/queue/embedded/database-schema.js';
import { readTemplate } from '../../../src/queue/embedded/database-template.js';
import { openEmbeddedDatabase } from '../../../src/queue/embedded/embedded-database.js';
import { PGliteEngine } from '../../../src/queue/embedded/pglite-engine.js';
import { MEMORY_DIR } from '../../../src/queue/embedded/pglite-factory.js';
import { PGlitePool } from '../../../src/queue/embedded/pglite-pool.js';
import { EmbeddedFolders } from '../../support/embedded-folder.js';

const folders = new EmbeddedFolders();
afterAll(() => folders.dispose());

/** Resolves to the properties of a database that is ready for BullMQ. */
async function inventory(pool: PgPool): Promise<unknown> {
  const { rows } = await pool.query(
    `SELECT (SELECT array_agg(datname) FROM pg_database) AS databases,
            (SELECT max(version) FROM migration) AS schema,
            (SELECT count(*)::int FROM pg_proc WHERE pronamespace = 'bullmq'::regnamespace) AS functions,
            current_setting('shared_buffers') AS buffers,
            current_setting('wal_segment_size') AS segment,
            current_setting('synchronous_commit') AS commit`,
    [],
  );
  return rows[0];
}

describe('the template of the embedded database', () => {
  it('exists after a build, for the installed version of PGlite', async () => {
    expect((await readTemplate())?.size).toBeGreaterThan(1_000_000);
  });

  it('produces the same database as initdb and the migrations', async () => {
    const fromTemplate = await openEmbeddedDatabase({ dataDir: await folders.fresh() });
    const engine = await PGliteEngine.open({ path: MEMORY_DIR, isNew: true, durability: 'process' });
    const made = new PGlitePool(engine, { afterStatement: () => undefined, close: () => engine.close() });
    await migrate(made);
    await dropTemplateDatabases(made);

    const expected = { databases: ['postgres'], buffers: '8MB', segment: '1MB', commit: 'on' };
    expect(await inventory(made)).toMatchObject(expected);
    expect(await inventory(fromTemplate)).toEqual(await inventory(made));
    await fromTemplate.end();
    await made.end();
  });

  it('gets missing migrations at each start', async () => {
    const dataDir = await folders.copiedDataDir();
    const first = await openEmbeddedDatabase({ dataDir });
    const before = await inventory(first);
    await first.query('DROP SCHEMA bullmq CASCADE');
    await first.end();

    const second = await openEmbeddedDatabase({ dataDir });
    expect(await inventory(second)).toEqual(before);
    await second.end();
  });
});

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from '@jest/globals';
import { createPostgresBackend, withBackend } from 'bullmq';
import { openEmbeddedDatabase } from '../../../src/queue/embedded/embedded-database.js';
import { EmbeddedFolders } from '../../support/embedded-folder.js';

const { Queue } = withBackend(createPostgresBackend);
const BROKEN = { code: 'EMBEDDED_QUEUE_BROKEN' };
const THREAD = fileURLToPath(new URL('../../support/failing-sync-thread.mjs', import.meta.url));

const folders = new EmbeddedFolders();
afterAll(() => folders.dispose());

describe('the embedded queue on a disk that fails once', () => {
  it('acknowledges nothing after that, though the disk does not report the failure again', async () => {
    const dataDir = await folders.copiedDataDir();
    const pool = await openEmbeddedDatabase({ dataDir, threadFile: THREAD });
    const queue = new Queue('jobs', { connection: pool, skipMetasUpdate: true });
    const jobs = Array.from({ length: 20 }, () => ({ name: 'job', data: {} }));
    await queue.addBulk(jobs);
    await writeFile(join(dataDir, 'sync-fails'), '');
    // PostgreSQL removes the tables of the add after its commit, and only warns if it cannot.
    await expect(queue.addBulk(jobs)).rejects.toMatchObject(BROKEN);
    await expect(pool.query('SELECT 1')).rejects.toMatchObject(BROKEN);
    await pool.end();
  });
});

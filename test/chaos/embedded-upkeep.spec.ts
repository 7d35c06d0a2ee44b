import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { createPostgresBackend, withBackend } from 'bullmq';
import { openEmbeddedDatabase } from '../../src/queue/embedded/embedded-database.js';
import { EmbeddedFolders } from '../support/embedded-folder.js';
import { Stage } from '../support/stage.js';

const { Queue, Worker } = withBackend(createPostgresBackend);
const JOBS = 20_000;
const JOBS_PER_ADD = 200;

const folders = new EmbeddedFolders();
const stage = new Stage();
afterAll(() => folders.dispose());

async function megabytes(dir: string): Promise<number> {
  const entries = await readdir(dir, { recursive: true });
  const sizes = await Promise.all(entries.map(async (entry) => (await stat(join(dir, entry))).size));
  return sizes.reduce((sum, size) => sum + size, 0) / 1024 ** 2;
}

async function open(
  options: Parameters<typeof openEmbeddedDatabase>[0],
): ReturnType<typeof openEmbeddedDatabase> {
  const pool = await openEmbeddedDatabase(options);
  await stage.add(Promise.resolve({ close: () => pool.end() }));
  return pool;
}

describe('the upkeep of the embedded database', () => {
  it('keeps the folder under 100 MB while 20,000 jobs go through it', async () => {
    const dataDir = await folders.fresh();
    const warnings: Error[] = [];
    const pool = await open({ dataDir, onWarning: (warning) => warnings.push(warning) });
    const queue = new Queue('jobs', {
      connection: pool,
      defaultJobOptions: { removeOnComplete: { age: 3600, count: 200 } },
    });
    await stage.add(Promise.resolve(queue));
    let done = 0;
    const finished = new Promise<void>((resolve, reject) => {
      const work = (): Promise<void> => {
        if (++done === JOBS) resolve();
        return Promise.resolve();
      };
      const worker = new Worker('jobs', work, { connection: pool, concurrency: 16 });
      worker.on('error', reject);
      void stage.add(Promise.resolve({ close: () => worker.close(true) }));
    });
    for (let n = 0; n < JOBS; n += JOBS_PER_ADD) {
      await queue.addBulk(
        Array.from({ length: JOBS_PER_ADD }, () => ({ name: 'job', data: { body: 'x'.repeat(300) } })),
      );
    }
    await finished;

    expect(await megabytes(dataDir)).toBeLessThanOrEqual(100);
    // BullMQ trims its event stream to about this many. The upkeep answers for all other growth of the folder.
    const { rows } = await pool.query<{ count: number }>('SELECT count(*)::int AS count FROM event', []);
    expect(rows[0]?.count).toBeLessThan(11_000);
    expect(warnings).toEqual([]);
  }, 240_000);
});

import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { createPostgresBackend, withBackend } from 'bullmq';
import { openEmbeddedDatabase } from '../../../src/queue/embedded/embedded-database.js';
import { EmbeddedFolders } from '../../support/embedded-folder.js';

const { Queue, Worker } = withBackend(createPostgresBackend);
const JOBS = 20_000;
const JOBS_PER_ADD = 200;

const folders = new EmbeddedFolders();
afterAll(() => folders.dispose());

async function megabytes(dir: string): Promise<number> {
  const entries = await readdir(dir, { recursive: true });
  const sizes = await Promise.all(entries.map(async (entry) => (await stat(join(dir, entry))).size));
  return sizes.reduce((sum, size) => sum + size, 0) / 1024 ** 2;
}

describe('the upkeep of the embedded database', () => {
  it('keeps the folder under 100 MB while 20,000 jobs go through it', async () => {
    const dataDir = await folders.fresh();
    const warnings: Error[] = [];
    const pool = await openEmbeddedDatabase({ dataDir, onWarning: (warning) => warnings.push(warning) });
    const queue = new Queue('jobs', {
      connection: pool,
      defaultJobOptions: { removeOnComplete: { age: 3600, count: 200 } },
    });
    let done = 0;
    let allDone = (): void => undefined;
    const finished = new Promise<void>((resolve) => {
      allDone = resolve;
    });
    const work = (): Promise<void> => {
      if (++done === JOBS) allDone();
      return Promise.resolve();
    };
    const worker = new Worker('jobs', work, { connection: pool, concurrency: 16 });
    for (let n = 0; n < JOBS; n += JOBS_PER_ADD) {
      await queue.addBulk(
        Array.from({ length: JOBS_PER_ADD }, () => ({ name: 'job', data: { body: 'x'.repeat(300) } })),
      );
    }
    await finished;
    await worker.close();

    expect(await megabytes(dataDir)).toBeLessThanOrEqual(100);
    // BullMQ trims its stream of events, to about this many: the rest of the folder's growth is ours.
    const { rows } = await pool.query<{ count: number }>('SELECT count(*)::int AS count FROM event', []);
    expect(rows[0]?.count).toBeLessThan(11_000);
    expect(warnings).toEqual([]);
    await queue.close();
    await pool.end();
  }, 240_000);

  it('stays out of transactions', async () => {
    const warnings: Error[] = [];
    const pool = await openEmbeddedDatabase({
      dataDir: 'memory://',
      onWarning: (warning) => warnings.push(warning),
    });
    await pool.query('CREATE TABLE note (text text)');
    const tidied = async (): Promise<number> => {
      const table = `SELECT coalesce(sum(vacuum_count), 0)::int AS count FROM pg_stat_all_tables WHERE relname = 'job'`;
      const { rows } = await pool.query<{ count: number }>(table, []);
      return rows[0]?.count ?? 0;
    };
    const before = await tidied();
    const client = await pool.connect();
    // 80 statements outside a transaction are reason enough for a round, in the middle of transactions.
    for (let n = 0; n < 80; n++) {
      await client.query('BEGIN');
      const other = pool.query('SELECT 1');
      await client.query('INSERT INTO note VALUES ($1)', [String(n)]);
      await client.query('COMMIT');
      await other;
    }
    client.release();
    expect(await tidied()).toBeGreaterThan(before);
    expect(warnings).toEqual([]);
    await pool.end();
  });
});

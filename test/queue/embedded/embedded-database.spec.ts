import { existsSync, watch } from 'node:fs';
import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { createPostgresBackend, withBackend } from 'bullmq';
import type { AnalyticsError } from '../../../src/errors/analytics.error.js';
import { DataDir } from '../../../src/queue/embedded/data-dir.js';
import { openEmbeddedDatabase } from '../../../src/queue/embedded/embedded-database.js';
import { GuardedChild, scriptArguments } from '../../support/child-process.js';
import { EmbeddedFolders } from '../../support/embedded-folder.js';

const { Queue } = withBackend(createPostgresBackend);
const OPEN_EMBEDDED = new URL('./children/open-embedded.ts', import.meta.url);
const WITHOUT_ADD_ON = new URL('./children/without-add-on.ts', import.meta.url);
const ADD_JOBS = new URL('../children/add-jobs.ts', import.meta.url);

/** Limits the address space, in kilobytes, to less than Node reserves for WebAssembly. */
const WITH_LITTLE_ADDRESS_SPACE = 'ulimit -v 6000000; exec "$@"';

const folders = new EmbeddedFolders();
afterAll(() => folders.dispose());

describe('the embedded database', () => {
  it('is created in a folder that does not exist yet, and keeps its jobs when it is closed and opened again', async () => {
    const dataDir = join(await folders.fresh(), 'further', 'down');
    const first = await openEmbeddedDatabase({ dataDir });
    await new Queue('jobs', { connection: first }).add('job', { n: 1 }, { jobId: 'kept' });
    await first.end();
    expect(await readFile(join(dataDir, '.gitignore'), 'utf8')).toBe('*\n');

    const second = await openEmbeddedDatabase({ dataDir });
    const job = await new Queue('jobs', { connection: second }).getJob('kept');
    expect(job?.data).toEqual({ n: 1 });
    await second.end();
  });

  it('keeps nothing, and writes nothing, with memory://', async () => {
    const pool = await openEmbeddedDatabase({ dataDir: 'memory://' });
    const queue = new Queue('jobs', { connection: pool });
    await queue.add('job', {});
    expect(await queue.count()).toBe(1);
    await pool.end();
    expect(existsSync('memory:')).toBe(false);

    const again = await openEmbeddedDatabase({ dataDir: 'memory://' });
    expect(await new Queue('jobs', { connection: again }).count()).toBe(0);
    await again.end();
  });

  it('can be opened by one process only, and the error names the folder, the process and what to do', async () => {
    const dataDir = await folders.copiedDataDir();
    const owner = await GuardedChild.startScript(OPEN_EMBEDDED, [dataDir]);
    await owner.waitFor(/^open$/);
    await expect(openEmbeddedDatabase({ dataDir })).rejects.toMatchObject({
      code: 'EMBEDDED_QUEUE_LOCKED',
      message: expect.stringMatching(
        new RegExp(
          `${dataDir} .*process ${owner.pid},.*folder of its own.*share a queue on Redis or PostgreSQL`,
        ),
      ),
      pid: owner.pid,
    });

    await owner.stop('SIGKILL');
    const pool = await openEmbeddedDatabase({ dataDir });
    await pool.end();
  });

  it('can be opened once at a time in one process, and again as soon as it is closed', async () => {
    const dataDir = await folders.copiedDataDir();
    const pool = await openEmbeddedDatabase({ dataDir });
    await expect(openEmbeddedDatabase({ dataDir })).rejects.toMatchObject({
      code: 'EMBEDDED_QUEUE_LOCKED',
      message: expect.stringContaining(`this process (${process.pid})`),
    });
    await Promise.all([pool.end(), pool.end()]);
    await (await openEmbeddedDatabase({ dataDir })).end();
  });

  it('is refused without a process id if another container has it open, since ids differ there', async () => {
    const dataDir = await folders.copiedDataDir();
    const owner = await openEmbeddedDatabase({ dataDir });
    const lock = join(dataDir, 'lock');
    await writeFile(lock, (await readFile(lock, 'utf8')).replace(hostname(), 'shop-7d4f9c-x2x8p'));
    await expect(openEmbeddedDatabase({ dataDir })).rejects.toMatchObject({
      code: 'EMBEDDED_QUEUE_LOCKED',
      message: expect.stringContaining('already open in another process, and'),
      pid: undefined,
    });
    await owner.end();
  });

  it('is refused with the name of the platform if its lock cannot be loaded, though the package loads', async () => {
    const child = await GuardedChild.startScript(WITHOUT_ADD_ON, [await folders.fresh()]);
    await child.waitFor(/^imported$/);
    const { platform, arch } = process;
    expect(await child.waitFor(/^EMBEDDED/)).toMatch(
      new RegExp(`^EMBEDDED_QUEUE_PLATFORM .* not run on ${platform}-${arch}.*Redis or a PostgreSQL`),
    );
    await child.exited;
  });

  it('is created anew if the first start was killed while it was being created', async () => {
    const dataDir = await folders.fresh();
    await mkdir(dataDir);
    const child = await GuardedChild.startScript(OPEN_EMBEDDED, [dataDir]);
    await new Promise<void>((resolve) => {
      const watcher = watch(dataDir, { recursive: true }, (_, name) => {
        // The template is being unpacked: some of its files are there, the last ones are not.
        if (!name?.includes(join('postgres', 'base'))) return;
        watcher.close();
        resolve();
      });
    });
    await child.stop('SIGKILL');
    expect(existsSync(join(dataDir, 'unfinished'))).toBe(true);
    await rm(join(dataDir, 'postgres', 'global'), { recursive: true, force: true });

    const pool = await openEmbeddedDatabase({ dataDir });
    await new Queue('jobs', { connection: pool }).add('job', {});
    expect(existsSync(join(dataDir, 'unfinished'))).toBe(false);
    await pool.end();
  });

  it('never removes or overwrites a folder that it did not make', async () => {
    const dataDir = await folders.fresh();
    await mkdir(join(dataDir, 'postgres'), { recursive: true });
    await writeFile(join(dataDir, 'postgres', 'precious'), '');
    await expect(openEmbeddedDatabase({ dataDir })).rejects.toMatchObject({
      code: 'EMBEDDED_QUEUE_OPEN_FAILED',
      message: expect.stringContaining('PG_VERSION'),
    });
    expect(existsSync(join(dataDir, 'postgres', 'precious'))).toBe(true);
  });

  it('reports PostgreSQL’s message if it does not start, and releases the folder', async () => {
    const dataDir = await folders.copiedDataDir();
    const versionFile = join(dataDir, 'postgres', 'PG_VERSION');
    await chmod(versionFile, 0o600);
    await writeFile(versionFile, '9\n');
    const failure = { code: 'EMBEDDED_QUEUE_OPEN_FAILED', message: expect.stringMatching(/version 9/) };
    await expect(openEmbeddedDatabase({ dataDir })).rejects.toMatchObject(failure);
    await expect(openEmbeddedDatabase({ dataDir })).rejects.toMatchObject(failure);
  });

  it('is closed again if the folder cannot be marked as finished', async () => {
    const dataDir = await folders.fresh();
    await mkdir(dataDir);
    const mark = join(dataDir, 'unfinished');
    let ended = 0;
    const opening = new DataDir(dataDir).openDatabase(async () => {
      // A folder in place of the file cannot be removed as a file.
      await rm(mark);
      await mkdir(mark);
      return {
        end: () => {
          ended++;
          return Promise.resolve();
        },
      };
    });
    await expect(opening).rejects.toMatchObject({ code: 'ERR_FS_EISDIR' });
    expect(ended).toBe(1);
  });

  it('says that the folder cannot be created, and why', async () => {
    const file = await folders.fresh();
    await writeFile(file, '');
    await expect(openEmbeddedDatabase({ dataDir: join(file, 'queue') })).rejects.toMatchObject({
      code: 'EMBEDDED_QUEUE_OPEN_FAILED',
      message: expect.stringContaining('ENOTDIR'),
    });
  });

  it('says that it lacks memory in a process with little address space, and what to do', async () => {
    const child = await GuardedChild.start('/bin/sh', [
      '-c',
      WITH_LITTLE_ADDRESS_SPACE,
      'sh',
      process.execPath,
      ...scriptArguments(OPEN_EMBEDDED),
      await folders.fresh(),
    ]);
    expect(await child.waitFor(/cannot be opened/)).toMatch(
      /\(.*could not allocate memory\)\. Give the process more memory\. .*`ulimit -v`.*--disable-wasm-trap-handler/,
    );
    await child.exited;
  });

  it('acknowledges nothing more after a crash, and keeps everything that it acknowledged before', async () => {
    const dataDir = await folders.copiedDataDir();
    const warnings: AnalyticsError[] = [];
    const pool = await openEmbeddedDatabase({ dataDir, onWarning: (warning) => warnings.push(warning) });
    await pool.query('CREATE TABLE filler (text text)');
    const log = join(dataDir, 'postgres', 'pg_wal');
    // A log that cannot be written has the same effect as a full disk.
    await rename(log, `${log}.away`);
    let acknowledged = 0;
    const broken = { code: 'EMBEDDED_QUEUE_BROKEN' };
    await expect(
      (async () => {
        for (;;) {
          await pool.query('INSERT INTO filler VALUES ($1)', ['x'.repeat(100_000)]);
          acknowledged++;
        }
      })(),
    ).rejects.toMatchObject(broken);
    await expect(pool.query('SELECT 1')).rejects.toMatchObject(broken);
    // The upkeep failed in every round, and warned once.
    expect(warnings.map(({ code }) => code)).toEqual(['EMBEDDED_QUEUE_UPKEEP_FAILED']);
    await pool.end();

    await rename(`${log}.away`, log);
    const again = await openEmbeddedDatabase({ dataDir });
    const { rows } = await again.query<{ count: number }>('SELECT count(*)::int AS count FROM filler');
    expect(rows).toEqual([{ count: acknowledged }]);
    expect(acknowledged).toBeGreaterThan(0);
    await again.end();
  });

  it.each(['disk', 'process'] as const)(
    "acknowledges nothing once its folder was removed, with the durability '%s'",
    async (durability) => {
      const dataDir = await folders.copiedDataDir();
      const pool = await openEmbeddedDatabase({ dataDir, durability });
      await pool.query('CREATE TABLE filler (text text)');
      await pool.query('INSERT INTO filler VALUES ($1)', ['kept']);
      await rm(dataDir, { recursive: true });
      await expect(pool.query('INSERT INTO filler VALUES ($1)', ['lost'])).rejects.toMatchObject({
        code: 'EMBEDDED_QUEUE_BROKEN',
        message: expect.stringContaining(`${join(dataDir, 'postgres')} was removed`),
      });
      await pool.end();

      const again = await openEmbeddedDatabase({ dataDir });
      expect((await again.query(`SELECT * FROM pg_class WHERE relname = 'filler'`)).rows).toEqual([]);
      await again.end();
    },
  );

  it('keeps every acknowledged job when its process is killed at any moment', async () => {
    const dataDir = await folders.copiedDataDir();
    const acknowledged: string[] = [];
    for (const jobsBeforeKill of [1, 23, 64]) {
      const child = await GuardedChild.startScript(ADD_JOBS, [dataDir]);
      for (let n = 0; n < jobsBeforeKill; n++)
        await child.waitFor(/^added /).then((line) => acknowledged.push(line));
      await child.stop('SIGKILL');
      for (let line = await child.nextLine(); line !== undefined; line = await child.nextLine()) {
        if (line.startsWith('added ')) acknowledged.push(line);
      }
    }
    const pool = await openEmbeddedDatabase({ dataDir });
    const queue = new Queue('jobs', { connection: pool });
    const kept = new Set((await queue.getWaiting()).map((job) => `added ${job.id ?? ''}`));
    expect(acknowledged.filter((line) => !kept.has(line))).toEqual([]);
    expect(acknowledged.length).toBeGreaterThanOrEqual(88);
    await pool.end();
  }, 90_000);
});

import { writeFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createPostgresBackend, withBackend } from 'bullmq';
import type { AnalyticsError } from '../../../src/errors/analytics.error.js';
import { DatabaseThread } from '../../../src/queue/embedded/database-thread.js';
import { openEmbeddedDatabase } from '../../../src/queue/embedded/embedded-database.js';
import { QUEUE_BACKEND, type QueueBackend } from '../../../src/queue/queue-backend.js';
import { GuardedChild } from '../../support/child-process.js';
import { DatabaseThreads } from '../../support/database-threads.js';
import { EmbeddedFolders } from '../../support/embedded-folder.js';
import { Stage, webhooksTo } from '../../support/stage.js';

const { Queue } = withBackend(createPostgresBackend);
/** A statement that would take days. */
const ENDLESS = 'SELECT count(*) FROM generate_series(1, 1000000000000)';
const BROKEN = { code: 'EMBEDDED_QUEUE_BROKEN' };
const CRASHING_HOST = new URL('./children/crashing-host.ts', import.meta.url);
const WITHOUT_THREAD = new URL('./children/without-thread.ts', import.meta.url);

/** A thread that answers every statement, and fails to close. */
const UNCLOSABLE = `
  import { parentPort } from 'node:worker_threads';
  parentPort.on('message', ({ id, kind }) => {
    const failed = { kind: 'failed', id, error: { message: 'EIO', fields: {} } };
    parentPort.postMessage(kind === 'close' ? failed : { kind: 'done', id, result: { rows: [], rowCount: 0 } });
  });`;

const folders = new EmbeddedFolders();
afterAll(() => folders.dispose());

describe('the thread of the embedded database', () => {
  const stage = new Stage();
  let threads: DatabaseThreads;
  beforeEach(() => {
    threads = new DatabaseThreads();
  });
  afterEach(() => {
    threads.dispose();
  });

  it('fails unanswered statements when it crashes, and keeps everything that it acknowledged', async () => {
    const dataDir = await folders.copiedDataDir();
    const pool = await openEmbeddedDatabase({ dataDir });
    const queue = new Queue('jobs', { connection: pool });
    const acknowledged: string[] = [];
    const adding = (async () => {
      for (let n = 0; ; n++) acknowledged.push((await queue.add('job', {}, { jobId: `job-${n}` })).id ?? '');
    })();
    while (acknowledged.length < 20) await pool.query('SELECT 1');
    const unanswered = pool.query('SELECT count(*) FROM generate_series(1, 10000000)');
    await Promise.all([
      expect(unanswered).rejects.toMatchObject(BROKEN),
      expect(adding).rejects.toMatchObject(BROKEN),
      threads.crash(),
    ]);
    await expect(pool.query('SELECT 1')).rejects.toMatchObject(BROKEN);
    await pool.end();

    const again = await openEmbeddedDatabase({ dataDir });
    const waiting = await new Queue('jobs', { connection: again }).getWaiting(0, -1);
    const kept = new Set(waiting.map(({ id }) => id));
    expect(acknowledged.filter((id) => !kept.has(id))).toEqual([]);
    await again.end();
  });

  it('does not end the application when it crashes; the crash is logged, and acknowledged jobs wait for the next one', async () => {
    const receiver = await stage.receiver({ answer: [503] });
    const options = {
      connection: { embedded: { dataDir: await folders.copiedDataDir() } },
      shutdownTimeout: 1_000,
      webhooks: webhooksTo(receiver, { retryWindow: 1_000_000 }),
    };
    const first = await stage.app(options);
    first.analytics.track({ userId: 'u1', event: 'Acknowledged' });
    await first.analytics.flush();
    await first.log.line(/does not take events/);
    await threads.crash();
    first.analytics.track({ userId: 'u1', event: 'Too late' });
    expect(await first.analytics.flush({ timeout: 300 })).toMatchObject({ queued: 0, pending: 1 });
    await first.log.line(/embedded.*crashed/);
    await first.close();
    expect(first.log.errors).toEqual([expect.stringContaining('1 message was lost')]);

    const second = await stage.app(options);
    const {
      wait = 0,
      active = 0,
      delayed = 0,
    } = await second.queue.getJobCounts('wait', 'active', 'delayed');
    expect(wait + active + delayed).toBe(1);
  });

  it('does not keep the application from timers, requests and signals when it crashes while jobs wait', async () => {
    const child = await GuardedChild.startScript(CRASHING_HOST, [await folders.copiedDataDir()]);
    await stage.add(Promise.resolve({ close: () => child.stop('SIGKILL') }));
    const log: string[] = [];
    let line = await child.nextLine();
    for (; line !== undefined && !line.startsWith('answers at'); line = await child.nextLine())
      log.push(line);
    expect((await fetch(line?.slice('answers at '.length) ?? '')).status).toBe(200);
    process.kill(child.pid, 'SIGTERM');
    for (line = await child.nextLine(); line !== undefined; line = await child.nextLine()) log.push(line);
    expect(log.filter((text) => text.includes('[Analytics]'))).toEqual([
      expect.stringMatching(/embedded database has crashed \(EMBEDDED_QUEUE_BROKEN\)\..*restarted/),
    ]);
  });

  it.each([
    ['cannot be started', 'package.json', /absolute path/],
    ['cannot be loaded', 'import "./nowhere.mjs";', /Cannot find module .*nowhere/],
    ['ends at its start', 'process.exit(7);', /exited with code 7/],
  ])('is refused with the reason if it %s, and releases the folder', async (_, codeOrFile, reason) => {
    const dataDir = await folders.copiedDataDir();
    const threadFile = codeOrFile.endsWith(';') ? `${dataDir}.mjs` : codeOrFile;
    if (threadFile !== codeOrFile) await writeFile(threadFile, codeOrFile);
    await expect(openEmbeddedDatabase({ dataDir, threadFile })).rejects.toMatchObject({
      code: 'EMBEDDED_QUEUE_OPEN_FAILED',
      message: expect.stringMatching(
        new RegExp(`^The embedded queue in ${dataDir}.* cannot be opened \\(.*${reason.source}`),
      ),
    });
    await (await openEmbeddedDatabase({ dataDir })).end();
  });

  it('ends even if the database cannot be closed', async () => {
    const file = `${await folders.fresh()}.mjs`;
    await writeFile(file, UNCLOSABLE);
    const thread = await DatabaseThread.open(file, { path: 'memory://', isNew: true, durability: 'process' });
    await expect(thread.close()).rejects.toThrow('EIO');
    await expect(thread.query('SELECT 1')).rejects.toMatchObject(BROKEN);
  });

  it('is terminated with a warning if it hangs when the application closes, and the next one delivers acknowledged jobs', async () => {
    const receiver = await stage.receiver({ answer: [503, 200] });
    const options = {
      connection: { embedded: { dataDir: await folders.copiedDataDir() } },
      shutdownTimeout: 1_000,
      webhooks: webhooksTo(receiver),
    };
    const first = await stage.app(options);
    const id = first.analytics.track({ userId: 'u1', event: 'Acknowledged' });
    await first.analytics.flush();
    await receiver.received(1);
    const { storage } = first.context.get<QueueBackend>(QUEUE_BACKEND);
    if (storage.kind !== 'postgres') throw new Error('The embedded database is a PostgreSQL');
    const hanging = storage.pool.query(ENDLESS).catch(() => undefined);
    await first.close();
    await hanging;
    expect(first.log.analytics.filter((line) => line.includes('embedded'))).toEqual([
      expect.stringMatching(
        /^warn: The embedded queue's database did not close in time.* \(EMBEDDED_QUEUE_UNCLOSED\)\.$/,
      ),
    ]);

    await stage.app(options);
    const requests = await receiver.received(2);
    expect(requests.map(({ headers }) => headers['webhook-id'])).toEqual([id, id]);
  });

  it('is also terminated if it hangs in a transaction', async () => {
    const warnings: AnalyticsError[] = [];
    const onWarning = (warning: AnalyticsError): unknown => warnings.push(warning);
    const pool = await openEmbeddedDatabase({ dataDir: 'memory://', onWarning });
    const client = await pool.connect();
    await client.query('BEGIN');
    const hanging = client.query(ENDLESS);
    await Promise.all([expect(hanging).rejects.toMatchObject(BROKEN), pool.end(0)]);
    await expect(client.query('ROLLBACK')).rejects.toMatchObject(BROKEN);
    client.release();
    expect(warnings).toEqual([expect.objectContaining({ code: 'EMBEDDED_QUEUE_UNCLOSED' })]);
  });

  it('is replaced by the main thread, with a warning, if its code is missing, as in a bundle', async () => {
    const child = await GuardedChild.startScript(WITHOUT_THREAD, []);
    expect(await child.waitFor(/^warned/)).toMatch(
      /EMBEDDED_QUEUE_MAIN_THREAD .*\/nowhere\/database-thread\.worker\.js is not there.*bundle/,
    );
    await child.waitFor(/^has 1$/);
    await child.exited;
  });
});

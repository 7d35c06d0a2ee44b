import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { BATCH_JOB_VERSION, JOB_NAME } from '../../../src/queue/batch-job.js';
import { BacklogUpkeep } from '../../../src/queue/backlog-upkeep.js';
import { createBacklogStore } from '../../../src/queue/queue.providers.js';
import type { BatchProcessor } from '../../../src/queue/queue-backend.js';
import { deferred } from '../../support/deferred.js';
import { describeWith } from '../../support/describe-backend.js';
import { openBackend } from '../../support/open-backend.js';
import { lookIntoQueue } from '../../support/open-queue.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { PostgresSession } from '../../support/postgres-session.js';
import { Stage } from '../../support/stage.js';
import { until } from '../../support/until.js';

const FAILED = 20_000;
const ADD_FAILED = `
  INSERT INTO bullmq.job (queue, id, seq, name, state, data, added_at_ms, finished_at_ms)
  SELECT 'analytics', 'f' || n, n, 'batch', 'failed', '{}', n, n FROM generate_series(1, ${FAILED}) AS n`;

/** Selects the number of rows and index entries that ended sessions have read. */
const READ = `
  SELECT (SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'job')::int
    + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'job')::int AS read`;
const OTHERS = `
  SELECT pid FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`;

describeWith('postgres', PostgresServer.installed, 'many failed jobs on PostgreSQL', () => {
  const stage = new Stage();
  let server: PostgresServer;
  let connection: string;
  let other: PostgresSession;

  beforeAll(async () => {
    server = await PostgresServer.create();
  });
  beforeEach(async () => {
    connection = await server.createDatabase();
    other = await stage.add(PostgresSession.open(connection));
    await lookIntoQueue(connection, (queue) => queue.getJobCounts('failed'));
    await other.query(ADD_FAILED);
  });
  afterAll(() => server.dispose());

  /** Resolves to the number of rows read so far. A session reports its reads when it ends, at the latest. */
  async function read(): Promise<number> {
    await until(async () => ((await other.query(OTHERS)).length === 0 ? true : undefined));
    await other.query('SELECT pg_stat_force_next_flush()');
    const [row] = await other.query<{ read: number }>(READ);
    return row?.read ?? NaN;
  }

  /** Starts a worker that often looks for jobs of crashed workers. */
  async function startWorker(
    processor: BatchProcessor,
  ): Promise<{ end: (force?: boolean) => Promise<void> }> {
    const database = await openBackend(connection);
    const worker = database.createWorker(0, processor, {
      autorun: false,
      look: (look) => look(),
      end: (isWanted, end) => end(isWanted),
      lockDuration: 600,
      stalledInterval: 300,
      maxStalledCount: 10,
      runRetryDelay: 1_000,
    });
    void worker.run();
    const end = async (force?: boolean): Promise<void> => {
      await worker.close(force);
      await database.close();
    };
    return { end };
  }

  async function untilChecked(times: number): Promise<void> {
    const seen = new Set<string>();
    await until(async () => {
      const [row] = await other.query<{ value: string }>(
        `SELECT value FROM bullmq.meta WHERE field = 'stalled-check'`,
      );
      if (row !== undefined) seen.add(row.value);
      return seen.size > times || undefined;
    });
  }

  async function addJob(): Promise<void> {
    await lookIntoQueue(connection, (queue) => queue.add(JOB_NAME, { v: BATCH_JOB_VERSION, batches: [] }));
  }

  it('are not read to find jobs whose worker crashed', async () => {
    const before = await read();
    const checks = await startWorker(() => Promise.resolve());
    await untilChecked(3);
    await checks.end();
    expect((await read()) - before).toBeLessThan(FAILED / 10);
  });

  it('do not keep a job of a crashed worker from another worker', async () => {
    await addJob();
    const taken = deferred();
    const never = deferred();
    const crashes = await startWorker(() => {
      taken.resolve();
      return never.promise;
    });
    await taken.promise;
    await untilChecked(1);
    await crashes.end(true);
    const before = await read();
    const back = deferred();
    const takes = await startWorker(() => {
      back.resolve();
      return Promise.resolve();
    });
    await back.promise;
    await untilChecked(2);
    await takes.end();
    expect((await read()) - before).toBeLessThan(FAILED / 10);
    const jobs = await other.query(`SELECT state, stalled_count FROM bullmq.job WHERE state <> 'failed'`);
    expect(jobs).toEqual([{ state: 'completed', stalled_count: 1 }]);
  });

  it('are not read to see whether anything waits', async () => {
    const before = await read();
    const database = await openBackend(connection);
    const queue = database.createQueue(0, {});
    const store = createBacklogStore(database.storage);
    await store.add(new Map([['crm', 70]]));
    const parts = { queues: [queue], storage: database.jobStorage, store, limitOf: () => 100 };
    await new BacklogUpkeep(parts, { interval: 2, quietTime: 50 }).run();
    expect(await store.all()).toEqual(new Map());
    await queue.close();
    await database.close();
    expect((await read()) - before).toBeLessThan(FAILED / 10);
  });

  it('are not read to count those that wait', async () => {
    await other.query(`UPDATE bullmq.job SET state = 'waiting' WHERE seq <= 3`);
    await other.query(`UPDATE bullmq.job SET state = 'waiting', priority = 1 WHERE seq BETWEEN 4 AND 5`);
    const before = await read();
    const types = ['waiting', 'prioritized', 'active', 'delayed'] as const;
    expect(await lookIntoQueue(connection, (queue) => queue.getJobCounts(...types))).toEqual({
      waiting: 3,
      prioritized: 2,
      active: 0,
      delayed: 0,
    });
    expect((await read()) - before).toBeLessThan(FAILED / 10);
  });

  it('are counted as BullMQ counts them', async () => {
    await other.query(`UPDATE bullmq.job SET state = 'delayed', process_at_ms = 1 WHERE seq = 1`);
    await other.query(`UPDATE bullmq.job SET state = 'completed' WHERE seq = 2`);
    await other.query(`UPDATE bullmq.job SET state = 'waiting' WHERE seq = 3`);
    await lookIntoQueue(connection, async (queue) => {
      const none = { active: 0, prioritized: 0, 'waiting-children': 0 };
      const ended = { completed: 1, delayed: 1, failed: FAILED - 3 };
      expect(await queue.getJobCounts()).toEqual({ ...none, ...ended, waiting: 1 });
      await queue.pause();
      expect(await queue.getJobCounts()).toEqual({ ...none, ...ended, waiting: 0 });
      expect(await queue.getJobCountByTypes('failed', 'delayed')).toBe(FAILED - 2);
    });
  });
});

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { BATCH_JOB_VERSION, JOB_NAME } from '../../../src/queue/batch-job.js';
import type { QueueBackend } from '../../../src/queue/queue-backend.js';
import { describeWith } from '../../support/describe-backend.js';
import { openBackend } from '../../support/open-backend.js';
import { lookIntoQueue } from '../../support/open-queue.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { PostgresSession } from '../../support/postgres-session.js';
import { Stage } from '../../support/stage.js';
import { until } from '../../support/until.js';

const DUE = 60_000;
/** Number of jobs due at the same moment: more than BullMQ may promote at once. */
const ALIKE = 300;
/** In milliseconds. After a look, no look promotes jobs again for a second. */
const SOON = 700;
/** Milliseconds since the epoch. */
const addDueAt = (time: number): string => `
  INSERT INTO bullmq.job (queue, id, seq, name, state, data, added_at_ms, delay_ms, process_at_ms)
  SELECT 'analytics', 'd' || n, 1000000 + n, 'batch', 'delayed', '{}', 1, 1, ${time} FROM generate_series(1, ${ALIKE}) AS n`;
const ADD_DUE = `
  INSERT INTO bullmq.job (queue, id, seq, name, state, data, added_at_ms, delay_ms, process_at_ms)
  SELECT 'analytics', 'd' || n, 1000000 + n, 'batch', 'delayed', '{}', n, 1, n FROM generate_series(1, ${DUE}) AS n`;
const COUNT = `SELECT state::text, count(*)::int AS jobs FROM bullmq.job GROUP BY state ORDER BY state::text`;

describeWith('postgres', PostgresServer.installed, 'jobs on PostgreSQL that are all due at once', () => {
  const stage = new Stage();
  let server: PostgresServer;

  beforeAll(async () => {
    server = await PostgresServer.create();
  });
  afterAll(() => server.dispose());

  /** Starts a worker with one job in hand at a time. */
  async function work(
    connection: string,
    process: (id: string) => Promise<void>,
    onLook: () => void = () => undefined,
  ): Promise<{ backend: QueueBackend; worker: ReturnType<QueueBackend['createWorker']> }> {
    const backend = await openBackend(connection);
    const worker = backend.createWorker(0, ({ id }) => process(String(id)), {
      autorun: false,
      look: (look) => {
        onLook();
        return look();
      },
      end: (isWanted, end) => end(isWanted),
      lockDuration: 30_000,
      runRetryDelay: 1_000,
    });
    worker.on('error', () => undefined);
    void worker.run();
    return { backend, worker };
  }

  it('keep no job waiting, and are promoted some at a time, so that a `statement_timeout` cannot stop delivery for ever', async () => {
    const connection = await server.createDatabase();
    const other = await stage.add(PostgresSession.open(connection));
    await lookIntoQueue(connection, (queue) => queue.add(JOB_NAME, { v: BATCH_JOB_VERSION, batches: [] }));
    await other.query(ADD_DUE);
    const [database] = await other.query<{ name: string }>('SELECT current_database() AS name');
    await other.query(`ALTER DATABASE "${database?.name ?? ''}" SET statement_timeout = '600ms'`);

    const taken: string[] = [];
    const { backend, worker } = await work(connection, async (id) => {
      taken.push(id);
      // Never ends, so that the worker takes no other job.
      await new Promise(() => undefined);
    });
    await until(() => taken[0]);
    const states = await other.query<{ state: string; jobs: number }>(COUNT);
    expect(states.find(({ state }) => state === 'delayed')?.jobs).toBeGreaterThan(DUE / 2);
    await until(async () => ((await other.query(COUNT)).length === 2 ? true : undefined));
    expect(await other.query(COUNT)).toEqual([
      { state: 'active', jobs: 1 },
      { state: 'waiting', jobs: DUE },
    ]);
    expect(taken).toHaveLength(1);
    await worker.close(true);
    await backend.close();
  });

  it.each([
    ['completed', () => undefined],
    [
      'failed for good',
      () => {
        throw new Error('No.');
      },
    ],
  ])('are not all promoted when a job is %s and the worker takes the next one', async (_, end) => {
    const connection = await server.createDatabase();
    const other = await stage.add(PostgresSession.open(connection));
    await lookIntoQueue(connection, async (queue) => {
      for (let n = 0; n < 2; n++) await queue.add(JOB_NAME, { v: BATCH_JOB_VERSION, batches: [] });
    });
    const delayed: number[] = [];
    let taken = 0;
    const { backend, worker } = await work(connection, async () => {
      if (++taken === 1) {
        await other.query(ADD_DUE);
        end();
        return;
      }
      const states = await other.query<{ state: string; jobs: number }>(COUNT);
      delayed.push(states.find(({ state }) => state === 'delayed')?.jobs ?? 0);
      await new Promise(() => undefined);
    });
    expect(await until(() => delayed[0])).toBeGreaterThan(DUE / 2);
    await worker.close(true);
    await backend.close();
  });

  it('are promoted without many looks in vain if more are due at one moment than BullMQ may promote', async () => {
    const connection = await server.createDatabase();
    const other = await stage.add(PostgresSession.open(connection));
    // Creates the tables.
    await lookIntoQueue(connection, (queue) => queue.getJobCounts());
    await other.query(addDueAt(Date.now() + SOON));
    let looks = 0;
    const taken: string[] = [];
    const { backend, worker } = await work(
      connection,
      async (id) => {
        taken.push(id);
        await new Promise(() => undefined);
      },
      () => looks++,
    );
    await until(() => taken[0]);
    expect(looks).toBeLessThan(20);
    await worker.close(true);
    await backend.close();
  });
});

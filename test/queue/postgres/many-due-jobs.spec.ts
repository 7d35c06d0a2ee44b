import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { BATCH_JOB_VERSION, JOB_NAME } from '../../../src/queue/batch-job.js';
import { describeWith } from '../../support/describe-backend.js';
import { openBackend } from '../../support/open-backend.js';
import { lookIntoQueue } from '../../support/open-queue.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { PostgresSession } from '../../support/postgres-session.js';
import { Stage } from '../../support/stage.js';
import { until } from '../../support/until.js';

const DUE = 60_000;
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

  it('keep no job waiting, and are promoted some at a time, so that a `statement_timeout` does not stop delivery for ever', async () => {
    const connection = await server.createDatabase();
    const other = await stage.add(PostgresSession.open(connection));
    await lookIntoQueue(connection, (queue) => queue.add(JOB_NAME, { v: BATCH_JOB_VERSION, batches: [] }));
    await other.query(ADD_DUE);
    const [database] = await other.query<{ name: string }>('SELECT current_database() AS name');
    await other.query(`ALTER DATABASE "${database?.name ?? ''}" SET statement_timeout = '600ms'`);

    const taken: string[] = [];
    const backend = await openBackend(connection);
    const worker = backend.createWorker(
      0,
      async (job) => {
        taken.push(String(job.id));
        // No other one is wanted.
        await new Promise(() => undefined);
      },
      {
        autorun: false,
        look: (look) => look(),
        end: (isWanted, end) => end(isWanted),
        lockDuration: 30_000,
        runRetryDelay: 1_000,
      },
    );
    worker.on('error', () => undefined);
    void worker.run();
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
});

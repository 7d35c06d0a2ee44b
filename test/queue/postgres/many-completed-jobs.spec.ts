import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { BATCH_JOB_VERSION, JOB_NAME } from '../../../src/queue/batch-job.js';
import { describeWith } from '../../support/describe-backend.js';
import { openBackend } from '../../support/open-backend.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { PostgresSession } from '../../support/postgres-session.js';
import { Stage } from '../../support/stage.js';
import { until } from '../../support/until.js';

const JOBS = 30;
/** Number of old jobs. All were completed within twenty seconds. */
const COMPLETED = 20_000;
/** Time for which completed jobs are kept, in seconds. */
const KEPT_FOR = 300;
const ADD_COMPLETED = `
  INSERT INTO bullmq.job (queue, id, seq, name, state, data, added_at_ms, finished_at_ms)
  SELECT 'analytics', 'c' || n, n, 'batch', 'completed', '{}', n, n FROM generate_series(1, ${COMPLETED}) AS n`;
const COUNT = `SELECT count(*)::int AS jobs FROM bullmq.job WHERE state = 'completed'`;

describeWith(
  'postgres',
  PostgresServer.installed,
  'completed jobs on PostgreSQL that were kept for long enough',
  () => {
    const stage = new Stage();
    let server: PostgresServer;

    beforeAll(async () => {
      server = await PostgresServer.create();
    });
    afterAll(() => server.dispose());

    it('are removed some at a time when later jobs are completed', async () => {
      const connection = await server.createDatabase();
      const backend = await openBackend(connection);
      const queue = backend.createQueue(0, {});
      const job = {
        name: JOB_NAME,
        data: { v: BATCH_JOB_VERSION, batches: [] },
        opts: { removeOnComplete: { age: KEPT_FOR } },
      };
      await queue.addBulk(Array.from({ length: JOBS }, () => job));
      const other = await stage.add(PostgresSession.open(connection));
      await other.query(ADD_COMPLETED);
      const left = async (): Promise<number> => (await other.query<{ jobs: number }>(COUNT))[0]?.jobs ?? NaN;

      const counts: number[] = [];
      const processor = async (): Promise<void> => {
        counts.push(await left());
      };
      const worker = backend.createWorker(0, processor, {
        autorun: false,
        look: (look) => look(),
        end: (isWanted, end) => end(isWanted),
        lockDuration: 30_000,
        runRetryDelay: 1_000,
      });
      worker.on('error', () => undefined);
      void worker.run();
      await until(() => counts[JOBS - 1]);
      // The worker takes one job after the other: the second one once the first one is completed.
      expect(counts[1]).toBeGreaterThan(COMPLETED / 2);
      expect(counts[1]).toBeLessThan(COMPLETED);
      expect(counts[JOBS - 1]).toBeLessThan(JOBS);
      await worker.close();
      await queue.close();
      await backend.close();
    });
  },
);

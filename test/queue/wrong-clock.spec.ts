import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { BATCH_JOB_VERSION, JOB_NAME } from '../../src/queue/batch-job.js';
import type { QueueBackend } from '../../src/queue/queue-backend.js';
import { createBacklogStore } from '../../src/queue/queue.providers.js';
import { deferred } from '../support/deferred.js';
import { describeWith, type TestConnection } from '../support/describe-backend.js';
import { EmbeddedFolders } from '../support/embedded-folder.js';
import { openBackend } from '../support/open-backend.js';
import { PostgresServer } from '../support/postgres-server.js';
import { PostgresSession } from '../support/postgres-session.js';
import { eventsIn } from '../support/received-message.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';

const DESTINATION = 'crm';
const DAY = 86_400_000;
const MINUTE = 60_000;
/** How far ahead the end of a lock may be, in milliseconds. */
const LIMIT = 300_000;

afterEach(() => {
  jest.restoreAllMocks();
});

/** Makes a worker whose clock is a day ahead take a message, look for stalled jobs, and crash. */
async function crashADayAhead(connection: TestConnection): Promise<void> {
  const backend = await openBackend(connection);
  const queue = backend.createQueue(0, {});
  const messages = [{ id: 'm1', body: '{"type":"track","event":"In hand"}', outcomes: [] }];
  await queue.add(JOB_NAME, {
    v: BATCH_JOB_VERSION,
    batches: [{ destination: DESTINATION, source: 'default', messages }],
  });
  await queue.close();
  const { now } = Date;
  const clock = jest.spyOn(Date, 'now').mockImplementation(() => now() + DAY);
  const taken = deferred();
  const never = deferred();
  const worker = backend.createWorker(
    0,
    () => {
      taken.resolve();
      return never.promise;
    },
    {
      autorun: false,
      look: (look) => look(),
      end: (isWanted, end) => end(isWanted),
      lockDuration: 6_000,
      stalledInterval: 3_000,
      maxStalledCount: 10,
      runRetryDelay: 1_000,
    },
  );
  void worker.run();
  await taken.promise;
  await until(() => hasLooked(backend));
  await worker.close(true);
  await backend.close();
  clock.mockRestore();
}

async function hasLooked({ jobStorage }: QueueBackend): Promise<true | undefined> {
  if (jobStorage.kind !== 'postgres') return undefined;
  const { rows } = await jobStorage.pool.query(`SELECT 1 FROM bullmq.meta WHERE field = 'stalled-check'`);
  return rows.length > 0 ? true : undefined;
}

describe('a job of a worker that crashed while its clock was a day ahead, in the embedded database', () => {
  const stage = new Stage();
  const folders = new EmbeddedFolders();
  afterAll(() => folders.dispose());

  it('is delivered as soon as the next process opens the folder', async () => {
    const connection = { embedded: { dataDir: await folders.copiedDataDir() } };
    const receiver = await stage.receiver();
    await crashADayAhead(connection);
    const app = await stage.app({ connection, webhooks: webhooksTo(receiver, { id: DESTINATION }) });
    expect(eventsIn(await receiver.received(1))).toEqual(['In hand']);
    await app.settled();
  });
});

describe('a task that a process claimed before the clock was set back', () => {
  const stage = new Stage();
  const folders = new EmbeddedFolders();
  afterAll(() => folders.dispose());

  it('is done by the next process that asks for it, and by no other', async () => {
    const dataDir = await folders.copiedDataDir();
    const { storage } = await stage.add(openBackend({ embedded: { dataDir } }));
    if (storage.kind !== 'postgres') throw new Error('The embedded database is a PostgreSQL');
    const store = createBacklogStore(storage);
    expect(await store.claim('task', MINUTE)).toBe(true);
    const anHour = `SET claimed_until = claimed_until + interval '1 hour'`;
    await storage.pool.query(`UPDATE nestjs_analytics.backlog_task ${anHour}`);
    expect(await store.claim('task', MINUTE)).toBe(true);
    expect(await store.claim('task', MINUTE)).toBe(false);
  });
});

describeWith(
  'postgres',
  PostgresServer.installed,
  'a job of a worker that crashed while its clock was a day ahead, on PostgreSQL',
  () => {
    const stage = new Stage();
    let server: PostgresServer;
    beforeAll(async () => {
      server = await PostgresServer.create();
    });
    afterAll(() => server.dispose());

    it('is delivered minutes after the next look of another worker', async () => {
      const connection = await server.createDatabase();
      const receiver = await stage.receiver();
      await crashADayAhead(connection);
      const session = await PostgresSession.open(connection);
      const webhooks = webhooksTo(receiver, { id: DESTINATION, timeout: 1_000 });
      const app = await stage.app({ connection, webhooks });
      await until(async () => {
        const [job] = await session.query<{ until: string }>(
          `SELECT locked_until_ms::text AS until FROM bullmq.job WHERE stalled_marked`,
        );
        return Number(job?.until) <= Date.now() + LIMIT || undefined;
      });
      // Five minutes pass.
      await session.query(`UPDATE bullmq.job SET locked_until_ms = locked_until_ms - ${LIMIT}`);
      expect(eventsIn(await receiver.received(1))).toEqual(['In hand']);
      await app.settled();
      await session.close();
    });
  },
);

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { JobRemoval } from '../../../src/queue/job-removal.js';
import type { QueueStorage } from '../../../src/queue/queue-backend.js';
import { describeWith } from '../../support/describe-backend.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { PostgresSession } from '../../support/postgres-session.js';
import { Stage, webhooksTo } from '../../support/stage.js';
import { until } from '../../support/until.js';

describeWith('postgres', PostgresServer.installed, 'a job on PostgreSQL', () => {
  const stage = new Stage();
  let server: PostgresServer;

  beforeAll(async () => {
    server = await PostgresServer.create();
  });
  afterAll(() => server.dispose());

  it('is removed by only one of two simultaneous removals', async () => {
    const connection = await server.createDatabase();
    const other = await stage.add(PostgresSession.open(connection));
    const app = await stage.app({
      connection,
      worker: false,
      webhooks: webhooksTo(await stage.receiver()),
    });
    const { id = '' } = await app.queue.add('batch', { v: 1, batches: [] });
    const removal = new JobRemoval(app.queue, { kind: 'postgres' } as QueueStorage);
    const removed = await other.holding('SELECT FROM bullmq.job FOR UPDATE', async () => {
      const both = [removal.remove(id), removal.remove(id)];
      await until(async () => (await other.waitingNow()) === 2 || undefined);
      return both;
    });
    expect((await Promise.all(removed)).filter(Boolean)).toHaveLength(1);
  });
});

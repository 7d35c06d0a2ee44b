import { expect, it } from '@jest/globals';
import { BatchQueue } from '../../src/queue/batch-queue.js';
import { describeServers, describeServersOrEmbedded } from '../support/describe-backend.js';
import { messageIds } from '../support/message-ids.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';

/** More jobs than are completed in a second. */
const JOBS = 250;

describeServers('a job that is added again because the answer was lost', (backend) => {
  const stage = new Stage();

  it('is not delivered again, though hundreds of others were completed in between', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({ connection: backend.connection, webhooks: webhooksTo(receiver) });
    const queue = app.context.get(BatchQueue);
    const jobs = messageIds('job', JOBS).map((id) => ({
      jobId: `${id}-job`,
      failedRetention: 60_000,
      batches: [{ destination: 'webhooks', source: 'default', messages: [{ id, body: '{}' }] }],
    }));
    for (let start = 0; start < JOBS; start += 50) await queue.add(jobs.slice(start, start + 50));
    await receiver.received(JOBS);
    await app.settled();

    await queue.add(jobs.slice(0, 50));
    for (const job of jobs.slice(50, 55)) await queue.add([job]);
    await app.settled();
    expect(receiver.requests).toHaveLength(JOBS);
  });
});

describeServersOrEmbedded('a message that failed for good', (backend) => {
  const stage = new Stage();

  it('is removed when its time is over, though no other job fails', async () => {
    const receiver = await stage.receiver({ answer: [400] });
    const app = await stage.app({
      connection: backend.connection,
      webhooks: webhooksTo(receiver, { failedRetention: 3_000 }),
    });
    app.analytics.track({ userId: 'u1', event: 'Failed' });
    await app.failedJobs();
    await until(async () => (await app.queue.getFailedCount()) === 0 || undefined);
  });
});

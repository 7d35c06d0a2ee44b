import { describe, expect, it } from '@jest/globals';
import { DeliveriesService } from '../../src/index.js';
import { BATCH_JOB_VERSION } from '../../src/queue/batch-job.js';
import { describeServersOrEmbedded } from '../support/describe-backend.js';
import { quickConnections } from '../support/quick-connections.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';

const newConnection = quickConnections();

function jobFor(destination: string): { v: number; batches: object[] } {
  const message = { id: 'm1', body: '{"type":"track"}', outcomes: [] };
  return { v: BATCH_JOB_VERSION, batches: [{ destination, source: 'default', messages: [message] }] };
}

describeServersOrEmbedded('a job that a worker does not know', (backend) => {
  const stage = new Stage();

  it('is put back for a worker that has its destination, with one log line for all such jobs', async () => {
    const { connection } = backend;
    const receiver = await stage.receiver();
    const options = { connection, unknownJobTimeout: 4_000 };
    const before = await stage.app({ ...options, webhooks: webhooksTo(receiver, { id: 'new' }) });
    for (const jobId of ['first', 'second'])
      await before.queue.add('batch', jobFor('old') as never, { jobId });
    // The jobs are looked at now and then.
    await until(async () => {
      const { delayed, failed } = await before.context.get(DeliveriesService).counts();
      return delayed === 2 && failed === 0 ? true : undefined;
    });
    expect(before.log.analytics).toEqual([
      expect.stringMatching(
        /^warn: This process has no destination with the id "old"\. .*`unknownJobTimeout`/,
      ),
    ]);
    await before.close();

    const after = await stage.app({ ...options, webhooks: webhooksTo(receiver, { id: 'old' }) });
    await receiver.received(2);
    await after.settled();
    expect(await after.queue.getFailedCount()).toBe(0);
  });

  it('fails for good if no worker has taken it in time, and is listed and counted', async () => {
    const app = await stage.app({
      connection: backend.connection,
      unknownJobTimeout: 500,
      webhooks: webhooksTo(await stage.receiver()),
    });
    await app.queue.add('batch', { v: BATCH_JOB_VERSION + 1, groups: [] } as never);
    await app.queue.add('batch', jobFor('old') as never);
    await until(async () => ((await app.queue.getFailedCount()) === 2 ? true : undefined));
    const deliveries = app.context.get(DeliveriesService);
    const failed = await deliveries.failed();
    expect(failed.map(({ error }) => error).sort()).toEqual(['DESTINATION_NOT_FOUND', 'UNKNOWN_JOB_FORMAT']);
    expect(await deliveries.counts()).toEqual({ waiting: 0, active: 0, delayed: 0, failed: 2 });
  });

  it('is delivered to the destinations that the worker has, if the job is shared', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({
      connection: backend.connection,
      unknownJobTimeout: 60_000,
      webhooks: webhooksTo(receiver, { id: 'known' }),
    });
    const batches = [...jobFor('old').batches, ...jobFor('known').batches];
    await app.queue.add('batch', { v: BATCH_JOB_VERSION, batches } as never);
    await receiver.received(1);
    await until(async () => ((await app.queue.getDelayedCount()) === 1 ? true : undefined));
    expect(await app.queue.getFailedCount()).toBe(0);
  });
});

describe('jobs of a thousand destinations that are gone', () => {
  const stage = new Stage();

  it.each([
    [
      'while they are left to other workers',
      600_000,
      'getDelayedCount',
      /^warn: This process has no destination/,
    ],
    ['when they fail', 0, 'getFailedCount', /^error: No destination has the id/],
  ] as const)('are logged in five lines %s', async (_, unknownJobTimeout, countOf, told) => {
    const app = await stage.app({
      connection: await newConnection(),
      unknownJobTimeout,
      webhooks: webhooksTo(await stage.receiver()),
    });
    const ids = Array.from({ length: 1_000 }, (__, n) => `gone-${n}`);
    await app.queue.addBulk(ids.map((id) => ({ name: 'batch', data: jobFor(id) as never })));
    await until(async () => (await app.queue[countOf]()) === ids.length || undefined);
    expect(app.log.analytics.filter((line) => told.test(line))).toHaveLength(5);
  });
});

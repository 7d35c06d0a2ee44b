import { expect, it } from '@jest/globals';
import { BATCH_JOB_VERSION } from '../../src/queue/batch-job.js';
import { type ApplicationPlan, startApplication } from '../support/application-child.js';
import { describeServers } from '../support/describe-backend.js';
import { messageIds, receivedIds } from '../support/message-ids.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';

describeServers('a deploy that changes the format of jobs', (backend) => {
  const stage = new Stage();

  it('loses no message, and has none fail, while both versions track and deliver', async () => {
    const { connection } = backend;
    // Each version also writes the rest of jobs that the other version handled before.
    const receiver = await stage.receiver({ answer: (_, index) => (index % 10 === 9 ? 503 : 200) });
    const options = {
      connection,
      flushAfter: 50,
      // Longer than a slow machine takes to start the next version.
      unknownJobTimeout: 60_000,
      webhooks: webhooksTo(receiver, { retryWindow: 60_000 }),
    };
    const startNext = (plan: Partial<ApplicationPlan>) =>
      startApplication({ ...options, end: 'signal', ...plan }, { next: true });

    // Only the next version adds, and only the present one works.
    const present = await stage.app(options);
    const producer = await startNext({ worker: false, take: messageIds('next', 45), flush: true });
    await producer.waitFor(/^queued$/);
    await present.log.line(/^warn: This process cannot read a job that a newer version/);
    const [job] = await until(async () => {
      const delayed = await present.queue.getJobs('delayed');
      return delayed.length > 0 ? delayed : undefined;
    });
    expect(job?.data).toMatchObject({ v: BATCH_JOB_VERSION + 1, parcels: expect.any(Array) });
    expect(receiver.requests).toEqual([]);

    // Both versions add and work.
    const next = await startNext({ take: messageIds('both-next', 200) });
    await next.waitFor(/^started$/);
    for (const messageId of messageIds('both-present', 200)) {
      present.analytics.track({ userId: 'u1', event: 'Deployed', messageId });
      if (messageId.endsWith('0')) await present.analytics.flush();
    }
    await until(() => (receivedIds(receiver).length === 445 ? true : undefined));
    await present.settled();
    expect(await present.queue.getFailedCount()).toBe(0);
    await present.close();

    // Only the present version adds, and only the next one works.
    const last = await stage.app({ ...options, worker: false });
    for (const messageId of messageIds('present', 45)) {
      last.analytics.track({ userId: 'u1', event: 'Deployed', messageId });
    }
    await last.analytics.flush();
    await last.settled();
    expect(await last.queue.getFailedCount()).toBe(0);
    expect(receivedIds(receiver)).toEqual(
      [
        ...messageIds('next', 45),
        ...messageIds('both-next', 200),
        ...messageIds('both-present', 200),
        ...messageIds('present', 45),
      ].sort(),
    );
    await Promise.all([producer.stop('SIGTERM'), next.stop('SIGTERM')]);
  }, 120_000);
});

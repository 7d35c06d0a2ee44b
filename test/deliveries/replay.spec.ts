import { expect, it } from '@jest/globals';
import { DeliveriesService, DestinationNotFoundError, type FailedFilter } from '../../src/index.js';
import { DeletedUsers } from '../../src/deliveries/deleted-users.js';
import { FailedMessages } from '../../src/deliveries/failed-messages.js';
import { DestinationRegistry } from '../../src/destinations/destination-registry.js';
import { BATCH_JOB_VERSION, type NewJob } from '../../src/queue/batch-job.js';
import { BatchQueue } from '../../src/queue/batch-queue.js';
import { BatchStore } from '../../src/queue/batch-store.js';
import { QUEUE_BACKEND, type QueueBackend } from '../../src/queue/queue-backend.js';
import { createBacklogStore } from '../../src/queue/queue.providers.js';
import type { AnalyticsApp } from '../support/analytics-app.js';
import { beforeFirstWrite } from '../support/before-first-write.js';
import { deferred } from '../support/deferred.js';
import { describeServersOrEmbedded } from '../support/describe-backend.js';
import { openBackend } from '../support/open-backend.js';
import { queuedMessages } from '../support/queued-messages.js';
import type { Receiver } from '../support/receiver.js';
import { eventsIn, messageIn } from '../support/received-message.js';
import { Stage, webhooksTo } from '../support/stage.js';

/** A store whose process ends between the two steps of a replay. */
class CrashingStore extends BatchStore {
  override removeWhere(): Promise<never> {
    return Promise.reject(new Error('killed here'));
  }
}

describeServersOrEmbedded('replay', (backend) => {
  const stage = new Stage();

  /**
   * An application with two destinations, and a failed job that holds the same message for both. A worker of an older
   * version, which did not know the format, kept the job as failed.
   */
  async function withSharedJob(): Promise<{ app: AnalyticsApp; receivers: Record<'a' | 'b', Receiver> }> {
    const receivers = { a: await stage.receiver(), b: await stage.receiver() };
    const app = await stage.app({
      connection: backend.connection,
      unknownJobTimeout: 0,
      webhooks: [webhooksTo(receivers.a, { id: 'a' }), webhooksTo(receivers.b, { id: 'b' })],
    });
    const messages = [{ id: 'm1', body: '{"type":"track","event":"Shared"}', outcomes: [] }];
    const batches = ['a', 'b'].map((destination) => ({ destination, source: 'default', messages }));
    await app.queue.add('batch', { v: BATCH_JOB_VERSION + 1, batches });
    const [job] = await app.failedJobs();
    await job?.updateData({ v: BATCH_JOB_VERSION, batches });
    return { app, receivers };
  }

  it('delivers failed messages again to every URL, with the same messageId and the same bytes', async () => {
    const receivers = [
      await stage.receiver({ answer: [404, 200] }),
      await stage.receiver({ answer: [410, 200] }),
    ];
    const app = await stage.app({ connection: backend.connection, webhooks: webhooksTo(receivers) });
    const deliveries = app.context.get(DeliveriesService);
    const id = app.analytics.track({ userId: 'u1', event: 'Again' });
    await app.analytics.flush();
    await app.failedJobs();

    expect(await deliveries.replay()).toBe(1);
    for (const receiver of receivers) {
      const [first, second] = await receiver.received(2);
      expect(second?.headers['webhook-id']).toBe(id);
      expect(second?.body).toEqual(first?.body);
    }
    await app.settled();
    expect(await deliveries.counts()).toEqual({ waiting: 0, active: 0, delayed: 0, failed: 0 });
    expect(await deliveries.replay()).toBe(0);
  });

  it('takes the messages that match the filter, and leaves the rest of the batch', async () => {
    let isCorrected = false;
    const receiver = await stage.receiver({
      answer: (request) => {
        if (messageIn(request).event === 'Gone') return 410;
        return isCorrected ? 200 : 404;
      },
    });
    const app = await stage.app({ connection: backend.connection, webhooks: webhooksTo(receiver) });
    const deliveries = app.context.get(DeliveriesService);
    for (const event of ['Gone', 'Lost', 'Lost']) app.analytics.track({ userId: 'u1', event });
    await app.analytics.flush();
    const [job] = await app.failedJobs();
    expect(queuedMessages(job)).toHaveLength(3);
    isCorrected = true;

    expect(await deliveries.replay({ status: 404, type: 'track' })).toBe(2);
    await receiver.received(5);
    await app.settled();
    const [left, ...more] = await deliveries.failed();
    expect(left).toMatchObject({ outcomes: [{ status: 410, attempt: 1 }] });
    expect(more).toEqual([]);
    expect(eventsIn(receiver.requests.slice(3))).toEqual(['Lost', 'Lost']);
  });

  it('takes every message of a batch, even if several share their id', async () => {
    const receiver = await stage.receiver({ answer: [404, 404, 200] });
    const app = await stage.app({ connection: backend.connection, webhooks: webhooksTo(receiver) });
    for (const event of ['one', 'two']) app.analytics.track({ userId: 'u1', event, messageId: 'order-1' });
    await app.analytics.flush();
    await app.settled();
    const deliveries = app.context.get(DeliveriesService);
    expect(await deliveries.replay()).toBe(2);
    expect(await deliveries.failed()).toEqual([]);
    await receiver.received(4);
  });

  it('takes messages that share their id one after the other if their outcomes differ', async () => {
    let isCorrected = false;
    const receiver = await stage.receiver({
      answer: (request) => {
        if (isCorrected) return 200;
        return messageIn(request).event === 'one' ? 404 : 410;
      },
    });
    const app = await stage.app({ connection: backend.connection, webhooks: webhooksTo(receiver) });
    for (const event of ['one', 'two']) app.analytics.track({ userId: 'u1', event, messageId: 'order-1' });
    await app.analytics.flush();
    const [job] = await app.failedJobs();
    expect(queuedMessages(job)).toMatchObject([{ id: 'order-1' }, { id: 'order-1' }]);
    isCorrected = true;

    const deliveries = app.context.get(DeliveriesService);
    expect(await deliveries.replay({ status: 404 })).toBe(1);
    expect(await deliveries.replay({ status: 410 })).toBe(1);
    await app.settled();
    expect(eventsIn(receiver.requests.slice(2)).sort()).toEqual(['one', 'two']);
    expect(await deliveries.failed()).toEqual([]);
  });

  it('delivers each message once if two calls in one process select it at the same time', async () => {
    let isCorrected = false;
    const receiver = await stage.receiver({
      answer: (request) => {
        if (isCorrected) return 200;
        return messageIn(request).event === 'one' ? 404 : 410;
      },
    });
    const app = await stage.app({ connection: backend.connection, webhooks: webhooksTo(receiver) });
    for (const event of ['one', 'two']) app.analytics.track({ userId: 'u1', event });
    await app.analytics.flush();
    const [job] = await app.failedJobs();
    expect(queuedMessages(job)).toHaveLength(2);
    isCorrected = true;

    const deliveries = app.context.get(DeliveriesService);
    const replayed = await Promise.all([deliveries.replay(), deliveries.replay({ status: 404 })]);
    expect(replayed[0] + replayed[1]).toBe(2);
    await app.settled();
    expect(eventsIn(receiver.requests.slice(2)).sort()).toEqual(['one', 'two']);
    expect(await deliveries.failed()).toEqual([]);
  });

  it.each<[FailedFilter, FailedFilter]>([
    [{}, { status: 404 }],
    [{ status: 404 }, {}],
  ])(
    'delivers each message once if two processes select it at the same time: %j and %j',
    async (before, meanwhile) => {
      let isCorrected = false;
      const receiver = await stage.receiver({
        answer: (request) => {
          if (isCorrected) return 200;
          return messageIn(request).event === 'one' ? 404 : 410;
        },
      });
      const options = { connection: backend.connection, webhooks: webhooksTo(receiver) };
      const app = await stage.app(options);
      for (const event of ['one', 'two']) app.analytics.track({ userId: 'u1', event });
      await app.analytics.flush();
      const [job] = await app.failedJobs();
      expect(queuedMessages(job)).toHaveLength(2);
      isCorrected = true;

      const other = await stage.app({ ...options, worker: false });
      const queue = other.context.get(BatchQueue);
      const add = queue.addUncounted.bind(queue);
      const [added, isOver] = [deferred(), deferred()];
      Object.assign(queue, {
        addUncounted: async (jobs: readonly NewJob[]) => {
          await add(jobs);
          added.resolve();
          await isOver.promise;
        },
      });
      const first = other.context.get(DeliveriesService).replay(before);
      await added.promise;
      const deliveries = app.context.get(DeliveriesService);
      const second = await deliveries.replay(meanwhile);
      isOver.resolve();
      await first;
      await deliveries.replay();
      await app.settled();
      expect(eventsIn(receiver.requests.slice(2)).sort()).toEqual(['one', 'two']);
      expect(second + (await first)).toBe(2);
      expect(await deliveries.failed()).toEqual([]);
      // Each message was counted once as waiting and once as delivered.
      for (const one of [app, other]) await one.close();
      const opened = await openBackend(backend.connection);
      expect((await createBacklogStore(opened.storage).all()).get('webhooks') ?? 0).toBe(0);
      await opened.close();
    },
  );

  it('does not deliver a message again that another replay takes while this replay reads it', async () => {
    const receiver = await stage.receiver({ answer: [404, 410, 200] });
    const app = await stage.app({ connection: backend.connection, webhooks: webhooksTo(receiver) });
    const deliveries = app.context.get(DeliveriesService);
    for (const event of ['one', 'two']) app.analytics.track({ userId: 'u1', event });
    await app.analytics.flush();
    const [job] = await app.failedJobs();
    expect(queuedMessages(job)).toHaveLength(2);

    const { jobStorage } = app.context.get<QueueBackend>(QUEUE_BACKEND);
    const overtaken = new FailedMessages(
      new BatchStore(
        [app.queue],
        beforeFirstWrite(jobStorage, () => deliveries.replay()),
      ),
      new BatchQueue([app.queue]),
      app.context.get(DestinationRegistry),
      app.context.get(DeletedUsers),
    );
    expect(await overtaken.replay({ status: 404 })).toBe(0);
    await app.settled();
    expect(eventsIn(receiver.requests.slice(2)).sort()).toEqual(['one', 'two']);
  });

  it('counts each message once if two processes remove it at the same time', async () => {
    const receiver = await stage.receiver({ answer: [404, 404, 200] });
    const options = { connection: backend.connection, webhooks: webhooksTo(receiver) };
    const app = await stage.app(options);
    for (const event of ['one', 'two']) app.analytics.track({ userId: 'u1', event });
    await app.analytics.flush();
    const [job] = await app.failedJobs();
    expect(queuedMessages(job)).toHaveLength(2);

    const other = await stage.app({ ...options, worker: false });
    const remove = other.queue.remove.bind(other.queue);
    const [found, isOver] = [deferred(), deferred()];
    Object.assign(other.queue, {
      remove: async (jobId: string) => {
        found.resolve();
        await isOver.promise;
        return remove(jobId);
      },
    });
    const first = other.context.get(DeliveriesService).replay();
    await found.promise;
    const second = await app.context.get(DeliveriesService).replay();
    isOver.resolve();
    expect(second + (await first)).toBe(2);
    await app.settled();
    expect(receiver.requests).toHaveLength(4);
    for (const one of [app, other]) await one.close();
    const opened = await openBackend(backend.connection);
    expect((await createBacklogStore(opened.storage).all()).get('webhooks') ?? 0).toBe(0);
    await opened.close();
  });

  it('delivers a message to both destinations that one job holds it for', async () => {
    const { app, receivers } = await withSharedJob();
    const deliveries = app.context.get(DeliveriesService);
    expect(await deliveries.replay({ error: 'UNKNOWN_JOB_FORMAT' })).toBe(2);
    await Promise.all([receivers.a.received(1), receivers.b.received(1)]);
    await app.settled();
    expect(await deliveries.failed()).toEqual([]);
  });

  it('leaves the copy of a message that the same job holds for another destination', async () => {
    const { app, receivers } = await withSharedJob();
    const deliveries = app.context.get(DeliveriesService);
    expect(await deliveries.replay({ destination: 'a' })).toBe(1);
    await receivers.a.received(1);
    expect(await deliveries.failed()).toMatchObject([{ destination: 'b', messageId: 'm1' }]);
    expect(await deliveries.replay({ destination: 'b' })).toBe(1);
    await receivers.b.received(1);
  });

  it('does not replay a message again in the same call if it fails again', async () => {
    const receiver = await stage.receiver({ answer: [404] });
    const app = await stage.app({ connection: backend.connection, webhooks: webhooksTo(receiver) });
    const deliveries = app.context.get(DeliveriesService);
    for (let n = 0; n < 30; n++) {
      app.analytics.track({ userId: 'u1', event: `Event ${n}` });
      await app.analytics.flush();
    }
    await app.settled();
    expect(await deliveries.replay()).toBe(30);
    await receiver.received(60);
    await app.settled();
    expect(await deliveries.counts()).toMatchObject({ failed: 30 });
    expect(receiver.requests).toHaveLength(60);
  });

  it('keeps a message that fails again for as long as before', async () => {
    const receiver = await stage.receiver({ answer: [404] });
    const app = await stage.app({
      connection: backend.connection,
      webhooks: webhooksTo(receiver, { failedRetention: 3_600_000 }),
    });
    app.analytics.track({ userId: 'u1', event: 'Again' });
    await app.analytics.flush();
    const [before] = await app.failedJobs();
    await app.context.get(DeliveriesService).replay();
    await receiver.received(2);
    await app.settled();
    const [after, ...more] = await app.failedJobs();
    expect(after?.id).not.toBe(before?.id);
    expect(after?.opts).toMatchObject({ removeOnFail: { age: 3_600 }, attempts: before?.opts.attempts });
    expect(more).toEqual([]);
  });

  it('does not take a message twice after a crash between its two steps', async () => {
    const { connection } = backend;
    const receiver = await stage.receiver({ answer: [404, 200] });
    const app = await stage.app({ connection, webhooks: webhooksTo(receiver) });
    const deliveries = app.context.get(DeliveriesService);
    app.analytics.track({ userId: 'u1', event: 'Once' });
    await app.analytics.flush();
    await app.failedJobs();
    const cutShort = new FailedMessages(
      new CrashingStore([app.queue], app.context.get<QueueBackend>(QUEUE_BACKEND).storage),
      new BatchQueue([app.queue]),
      app.context.get(DestinationRegistry),
      app.context.get(DeletedUsers),
    );
    await expect(cutShort.replay({})).rejects.toThrow('killed here');
    await receiver.received(2);
    await app.settled();
    expect(await deliveries.counts()).toMatchObject({ failed: 1 });

    expect(await deliveries.replay()).toBe(1);
    await app.settled();
    expect(await deliveries.counts()).toMatchObject({ failed: 0 });
    expect(receiver.requests).toHaveLength(2);
  });

  it('leaves the messages of a destination that is gone until the destination is back', async () => {
    const { connection } = backend;
    const receiver = await stage.receiver({ answer: [404, 200] });
    const before = await stage.app({ connection, webhooks: webhooksTo(receiver, { id: 'old' }) });
    before.analytics.track({ userId: 'u1', event: 'Orphan' });
    await before.analytics.flush();
    await before.failedJobs();
    await before.close();

    const without = await stage.app({ connection, webhooks: webhooksTo(receiver, { id: 'new' }) });
    const deliveries = without.context.get(DeliveriesService);
    expect(await deliveries.replay()).toBe(0);
    await expect(deliveries.replay({ destination: 'old' })).rejects.toThrow(DestinationNotFoundError);
    expect(await deliveries.failed({ destination: 'old' })).toHaveLength(1);
    await without.close();

    const again = await stage.app({ connection, webhooks: webhooksTo(receiver, { id: 'old' }) });
    expect(await again.context.get(DeliveriesService).replay({ destination: 'old' })).toBe(1);
    await receiver.received(2);
  });
});

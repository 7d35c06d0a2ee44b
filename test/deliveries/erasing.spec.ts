import { describe, expect, it, jest } from '@jest/globals';
import { type AudienceStore, DeliveriesService } from '../../src/index.js';
import { createDeletionStore } from '../../src/deliveries/deleted-users.js';
import type { DeletionStore } from '../../src/deliveries/deletion-store.js';
import { UserEraser } from '../../src/deliveries/user-eraser.js';
import { userKey } from '../../src/deliveries/deletion-key.js';
import { BATCH_JOB_VERSION } from '../../src/queue/batch-job.js';
import { BatchQueue } from '../../src/queue/batch-queue.js';
import { type BatchState, BatchStore } from '../../src/queue/batch-store.js';
import { createBacklogStore } from '../../src/queue/queue.providers.js';
import { QUEUE_BACKEND, type QueueBackend } from '../../src/queue/queue-backend.js';
import { AudiencesOn } from '../audiences/audiences-on.js';
import { bound } from '../audiences/bound-store.js';
import type { AnalyticsApp } from '../support/analytics-app.js';
import { beforeFirstWrite } from '../support/before-first-write.js';
import { describeServersOrEmbedded } from '../support/describe-backend.js';
import { deferred } from '../support/deferred.js';
import { LogLines } from '../support/log-lines.js';
import { messageIds } from '../support/message-ids.js';
import { openBackend } from '../support/open-backend.js';
import { queuedMessages } from '../support/queued-messages.js';
import { quickConnections } from '../support/quick-connections.js';
import { messageIn } from '../support/received-message.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';

const newConnection = quickConnections();

/** Retry window with a first retry after a few seconds, so that a job stays put back during a test. */
const SLOW = 4 * 60 * 60 * 1_000;

describeServersOrEmbedded('the deletion of a user', (backend) => {
  const stage = new Stage();

  const storageOf = (app: AnalyticsApp) => app.context.get<QueueBackend>(QUEUE_BACKEND).storage;
  const jobStorageOf = (app: AnalyticsApp) => app.context.get<QueueBackend>(QUEUE_BACKEND).jobStorage;

  /** Returns the users whose messages the queue holds, other than deletions. */
  async function usersIn(app: AnalyticsApp): Promise<string[]> {
    const jobs = await app.queue.getJobs(['delayed', 'failed', 'waiting', 'prioritized', 'active']);
    return queuedMessages(...jobs)
      .map(({ body }) => /"type":"track","userId":"(\w+)"/.exec(body)?.[1] ?? '')
      .filter((user) => user !== '')
      .sort();
  }

  /** Returns the tenants whose messages the queue holds, other than deletions. */
  async function tenantsIn(app: AnalyticsApp): Promise<string[]> {
    const jobs = await app.queue.getJobs(['delayed', 'failed']);
    return queuedMessages(...jobs)
      .filter(({ body }) => body.includes('"type":"track"'))
      .map(({ body }) => /"groupId":"(\w+)"/.exec(body)?.[1] ?? '')
      .sort();
  }

  /** Deletes a user, and waits until the deletion is carried out. */
  async function deleted(app: AnalyticsApp, call: () => void): Promise<void> {
    const store = await createDeletionStore(storageOf(app));
    const carriedOut = jest.spyOn(app.context.get(UserEraser), 'add');
    call();
    await Promise.all(carriedOut.mock.results.map(({ value }) => value));
    carriedOut.mockRestore();
    await until(async () => ((await store.pending(1)).length === 0 ? true : undefined));
  }

  it('removes the messages of the user from batches that are put back, and keeps the messages of other users', async () => {
    const receiver = await stage.receiver({ answer: [503] });
    const app = await stage.app({
      connection: backend.connection,
      webhooks: webhooksTo(receiver, { retryWindow: SLOW }),
    });
    for (const userId of ['gone', 'stays']) app.analytics.track({ userId, event: 'Retried' });
    await app.analytics.flush();
    await until(async () => ((await app.queue.getDelayedCount()) === 1 ? true : undefined));
    app.analytics.delete({ userId: 'gone' });
    await until(async () => ((await usersIn(app)).join() === 'stays' ? true : undefined));
  });

  it('counts a message off once if it removes the message while the rest of the batch is sent', async () => {
    const [retried, isSeen] = [deferred(), deferred()];
    let tries = 0;
    const receiver = await stage.receiver({
      answer: async (request) => {
        if (messageIn(request).type !== 'track') return 200;
        if (++tries <= 2) return 503;
        retried.resolve();
        await isSeen.promise;
        return 200;
      },
    });
    const app = await stage.app({
      connection: backend.connection,
      webhooks: webhooksTo(receiver, { retryWindow: SLOW / 4 }),
    });
    const store = app.context.get(BatchStore);
    const ids = store.ids.bind(store);
    const isActive = store.isActive.bind(store);
    Object.assign(store, {
      isActive: async (jobId: string) => {
        const is = await isActive(jobId);
        if (is) isSeen.resolve();
        return is;
      },
      // The search finds the job while it is put back, and reads it when a worker has taken it.
      async *ids(state: BatchState) {
        for await (const page of ids(state)) {
          if (state === 'delayed' && page.length > 0) await retried.promise;
          yield page;
        }
      },
    });
    for (const userId of ['gone', 'stays']) app.analytics.track({ userId, event: 'Retried' });
    await app.analytics.flush();
    await until(async () => ((await app.queue.getDelayedCount()) === 1 ? true : undefined));
    app.analytics.delete({ userId: 'gone' });
    await app.analytics.flush();
    await isSeen.promise;
    await app.settled();
    expect(tries).toBe(3);
    await app.close();
    const opened = await openBackend(backend.connection);
    expect((await createBacklogStore(opened.storage).all()).get('webhooks') ?? 0).toBe(0);
    await opened.close();
  });

  it('reaches messages of the future that leave a shared job before they are tried, and counts them off', async () => {
    const limited = await stage.receiver({
      answer: (request) => (messageIn(request).userId === 'gone' ? 503 : 200),
    });
    const app = await stage.app({
      connection: backend.connection,
      webhooks: [
        // Takes four messages at once, so its batch of five goes on in a job of its own.
        webhooksTo(limited, { id: 'limited', rateLimit: 2, retryWindow: 2_000 }),
        webhooksTo(await stage.receiver(), { id: 'other' }),
      ],
    });
    await app.queue.pause();
    const timestamp = new Date(Date.now() + SLOW);
    for (const userId of ['gone', 'u1', 'u2', 'u3', 'u4']) {
      app.analytics.track({ userId, event: 'Tomorrow', timestamp });
    }
    await app.analytics.flush();
    await deleted(app, () => {
      app.analytics.delete({ userId: 'gone', integrations: { limited: false } });
    });
    await app.queue.resume();
    await app.settled();
    const users = limited.requests.map((request) => messageIn(request).userId);
    expect(users.filter((user) => user !== 'gone').sort()).toEqual(['u1', 'u2', 'u3', 'u4']);
    expect(await app.context.get(DeliveriesService).failed()).toEqual([]);
    await app.close();
    const opened = await openBackend(backend.connection);
    expect((await createBacklogStore(opened.storage).all()).get('limited') ?? 0).toBe(0);
    await opened.close();
  });

  it('reaches messages that were tracked right before it, once they have been tried', async () => {
    const receiver = await stage.receiver({ answer: [503] });
    const app = await stage.app({
      connection: backend.connection,
      webhooks: webhooksTo(receiver, { retryWindow: SLOW }),
    });
    for (const userId of ['gone', 'stays']) app.analytics.track({ userId, event: 'Retried' });
    app.analytics.delete({ userId: 'gone' });
    await app.analytics.flush();
    await receiver.received(3);
    await until(async () => ((await app.queue.getDelayedCount()) > 0 ? true : undefined));
    await until(async () => ((await usersIn(app)).join() === 'stays' ? true : undefined));
  });

  it('keeps failed and retried messages of a user with the same id in another tenant', async () => {
    const receiver = await stage.receiver({ answer: [404] });
    const app = await stage.app({
      connection: backend.connection,
      webhooks: [
        webhooksTo(receiver, { id: 'refused' }),
        webhooksTo(await stage.receiver({ answer: [503] }), { id: 'retried', retryWindow: SLOW }),
      ],
    });
    const { analytics } = app;
    const tenants = ['acme', 'beta'].map((id) => analytics.tenant(id));
    for (const tenant of tenants) tenant.track({ userId: '1', event: 'Refused' });
    analytics.track({ userId: '1', event: 'Refused' });
    await analytics.flush();
    await until(async () => ((await tenantsIn(app)).length === 6 ? true : undefined));

    await deleted(app, () => analytics.tenant('acme').delete({ userId: '1' }));
    expect(await tenantsIn(app)).toEqual(['', '', 'beta', 'beta']);
    const before = receiver.requests.length;
    expect(await app.context.get(DeliveriesService).replay({ type: 'track' })).toBe(2);
    await receiver.received(before + 2);
    await until(async () => ((await tenantsIn(app)).length === 4 ? true : undefined));
    await deleted(app, () => analytics.delete({ userId: '1' }));
    expect(await tenantsIn(app)).toEqual([]);
  });

  it('keeps the messages from other sources if it is limited to one source', async () => {
    const app = await stage.app({
      connection: backend.connection,
      sources: ['web', 'shop'].map((name) => ({ name, writeKey: name })),
      webhooks: webhooksTo(await stage.receiver({ answer: [404] })),
    });
    const { analytics } = app;
    for (const source of ['web', 'shop']) {
      analytics.source(source).track({ userId: 'gone', event: 'Refused', context: { groupId: source } });
    }
    await analytics.flush();
    await app.settled();
    await deleted(app, () => analytics.delete({ userId: 'gone', sources: ['web'] }));
    expect(await tenantsIn(app)).toEqual(['shop']);
    await deleted(app, () => analytics.delete({ userId: 'gone', sources: ['web', 'shop'] }));
    expect(await tenantsIn(app)).toEqual([]);
  });

  it('is carried out at the next start if the process ended before', async () => {
    const { connection } = backend;
    const receiver = await stage.receiver({ answer: [404] });
    const app = await stage.app({ connection, webhooks: webhooksTo(receiver) });
    for (const userId of ['gone', 'stays']) app.analytics.track({ userId, event: 'Refused' });
    await app.analytics.flush();
    await app.failedJobs();
    const task = JSON.stringify({ userId: 'gone', sources: ['default'] });
    await (await createDeletionStore(storageOf(app))).add([{ key: userKey('gone'), at: Date.now(), task }]);
    await app.close();

    const next = await stage.app({ connection, webhooks: webhooksTo(receiver) });
    await until(async () => ((await usersIn(next)).join() === 'stays' ? true : undefined));
    const store = await createDeletionStore(storageOf(next));
    await until(async () => ((await store.pending(1)).length === 0 ? true : undefined));
    expect([...(await store.find([userKey('gone'), userKey('stays')])).keys()]).toEqual([userKey('gone')]);
  });

  it('reaches messages that waited until no application knew their destination any more', async () => {
    const { connection } = backend;
    const receiver = await stage.receiver();
    const known = webhooksTo(receiver, { id: 'known' });
    const removed = webhooksTo(receiver, { id: 'removed' });
    const app = await stage.app({ connection, webhooks: [known, removed] });
    await app.queue.pause();
    for (const userId of ['gone', 'stays']) app.analytics.track({ userId, event: 'Waited' });
    await app.analytics.flush();
    await deleted(app, () => app.analytics.delete({ userId: 'gone' }));
    await app.close();

    const next = await stage.app({ connection, webhooks: known, unknownJobTimeout: 500 });
    await next.queue.resume();
    const deliveries = next.context.get(DeliveriesService);
    const failed = await until(async () => {
      const messages = await deliveries.failed({ type: 'track' });
      return messages.length > 0 ? messages : undefined;
    });
    expect(failed.map(({ destination }) => destination)).toEqual(['removed']);
    expect(await usersIn(next)).toEqual(['stays']);
    const totals = createBacklogStore(storageOf(next));
    await until(async () => ((await totals.all()).get('removed') ?? 0) === 0 || undefined);
  });

  it('reaches failed messages of a job whose other messages were still on their way', async () => {
    const { connection } = backend;
    const [hangs, refuses] = [deferred(), deferred()];
    const hanging = await stage.receiver({ answer: () => hangs.promise.then(() => 200) });
    const refusing = await stage.receiver({ answer: () => refuses.promise.then(() => 404) });
    const webhooks = [webhooksTo(hanging, { id: 'hanging' }), webhooksTo(refusing, { id: 'refusing' })];
    const app = await stage.app({ connection, webhooks });
    for (const userId of ['gone', 'stays']) app.analytics.track({ userId, event: 'Refused' });
    await app.analytics.flush();
    await Promise.all([hanging.received(2), refusing.received(2)]);
    await app.queue.pause();
    refuses.resolve();
    // The failed messages move to a job of their own, which no worker takes now.
    await until(async () => ((await app.queue.getJobs()).length > 1 ? true : undefined));
    await deleted(app, () => app.analytics.delete({ userId: 'gone' }));
    await app.queue.resume();
    await until(async () => ((await app.queue.getFailedCount()) > 0 ? true : undefined));
    expect(await usersIn(app)).not.toContain('gone');
    hangs.resolve();
  });

  it('keeps later messages of a user with the same id', async () => {
    const receiver = await stage.receiver({ answer: [404] });
    const app = await stage.app({ connection: backend.connection, webhooks: webhooksTo(receiver) });
    app.analytics.delete({ userId: 'again' });
    await app.analytics.flush();
    await receiver.received(1);
    await new Promise((resolve) => setTimeout(resolve, 5));
    app.analytics.track({ userId: 'again', event: 'Refused' });
    await app.analytics.flush();
    await receiver.received(2);
    await app.settled();
    expect(await usersIn(app)).toEqual(['again']);
  });

  it('brings no message back when other messages of the same job are removed at the same time', async () => {
    const receiver = await stage.receiver({ answer: [404] });
    const app = await stage.app({ connection: backend.connection, webhooks: webhooksTo(receiver) });
    for (let n = 0; n < 20; n++) app.analytics.track({ userId: `user${n}`, event: 'Refused' });
    await app.analytics.flush();
    const [job] = await app.failedJobs();
    const [batch] = job?.data.batches ?? [];
    if (batch === undefined) throw new Error('no batch was kept');
    const { messages } = batch;
    const removals = messages.slice(1).map((message) => {
      const store = new BatchStore([app.queue], jobStorageOf(app));
      return store.removeWhere(job?.id ?? '', ({ id }) => id === message.id);
    });
    await Promise.all(removals);
    const [left] = await app.failedJobs();
    expect(queuedMessages(left).map(({ id }) => id)).toEqual([messages[0]?.id]);
  });

  it('removes nothing from a job that is removed as a whole meanwhile', async () => {
    const receiver = await stage.receiver({ answer: [404] });
    const app = await stage.app({ connection: backend.connection, webhooks: webhooksTo(receiver) });
    for (const userId of ['gone', 'stays']) app.analytics.track({ userId, event: 'Refused' });
    await app.analytics.flush();
    const [job] = await app.failedJobs();
    const [gone] = queuedMessages(job);
    const removedMeanwhile = beforeFirstWrite(jobStorageOf(app), async () => job?.remove());
    const store = new BatchStore([app.queue], removedMeanwhile);
    expect(await store.removeWhere(job?.id ?? '', ({ id }) => id === gone?.id)).toEqual([]);
    expect(await app.queue.getFailedCount()).toBe(0);
  });

  it('brings no message back when failed messages are replayed at the same time', async () => {
    const receiver = await stage.receiver({ answer: [404] });
    const app = await stage.app({ connection: backend.connection, webhooks: webhooksTo(receiver) });
    const deliveries = app.context.get(DeliveriesService);
    for (let n = 0; n < 10; n++) {
      for (const userId of ['gone', 'stays']) app.analytics.track({ userId, event: `Event${n}` });
      await app.analytics.flush();
    }
    await app.settled();
    const replayed = deliveries.replay();
    app.analytics.delete({ userId: 'gone' });
    await replayed;
    await deliveries.replay({ type: 'track' });
    await until(async () => ((await usersIn(app)).includes('gone') ? undefined : true));
    // The deletion is a message as well.
    await app.analytics.flush();
    await app.settled();
    expect(await usersIn(app)).toEqual(new Array(10).fill('stays'));
    const sent = receiver.requests.length;
    expect(await deliveries.replay({ type: 'track' })).toBe(10);
    await receiver.received(sent + 10);
    const again = receiver.requests.slice(sent).map((request) => messageIn(request).userId);
    expect(again).not.toContain('gone');
  });

  it('counts off the waiting messages of the user in batches that are put back or being delivered', async () => {
    let answer: (status: number) => void = () => undefined;
    const answered = new Promise<number>((resolve) => (answer = resolve));
    const receiver = await stage.receiver({ answer: () => answered });
    const app = await stage.app({
      connection: backend.connection,
      webhooks: [
        webhooksTo(await stage.receiver({ answer: [503] }), { id: 'put-back', retryWindow: SLOW }),
        webhooksTo(receiver, { id: 'underway', retryWindow: SLOW }),
      ],
    });
    const totals = createBacklogStore(storageOf(app));
    const total = (destination: string, wanted: number): Promise<boolean> =>
      until(async () => (await totals.all()).get(destination) === wanted || undefined);
    for (const userId of ['gone', 'stays', 'gone']) app.analytics.track({ userId, event: 'Retried' });
    await app.analytics.flush();
    await receiver.received(3);
    await Promise.all([total('put-back', 3), total('underway', 3)]);

    // The deletion itself is a message, too.
    app.analytics.delete({ userId: 'gone' });
    await app.analytics.flush();
    const deletions = await createDeletionStore(storageOf(app));
    await until(async () => (await deletions.find([userKey('gone')])).size === 1 || undefined);
    answer(503);
    await until(async () => (await usersIn(app)).join() === 'stays,stays' || undefined);
    await Promise.all([total('put-back', 2), total('underway', 2)]);
  });

  it('counts off the waiting messages of the user in a batch that is divided for a `rateLimit`', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({
      connection: backend.connection,
      webhooks: webhooksTo(receiver, { id: 'limited', rateLimit: 0.1 }),
    });
    await app.queue.pause();
    for (let n = 0; n < 10; n++)
      for (const userId of ['gone', 'stays']) app.analytics.track({ userId, event: 'Waited' });
    await app.analytics.flush();
    await deleted(app, () => app.analytics.delete({ userId: 'gone' }));
    await app.queue.resume();
    await receiver.received(1);
    const totals = createBacklogStore(storageOf(app));
    // Nine messages, and the deletion itself.
    await until(async () => ((await totals.all()).get('limited') ?? Infinity) <= 10 || undefined);
    expect(await usersIn(app)).not.toContain('gone');
  });

  it('reaches the rest of a batch that the queue refused to put back at first', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({
      connection: backend.connection,
      webhooks: webhooksTo(receiver, { id: 'limited', rateLimit: 0.1 }),
    });
    const queue = app.context.get(BatchQueue);
    const putBack = queue.putBack.bind(queue);
    const [asked, isDeleted] = [deferred(), deferred()];
    Object.assign(queue, {
      putBack: async () => {
        Object.assign(queue, { putBack });
        asked.resolve();
        await isDeleted.promise;
        throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
      },
    });
    for (let n = 0; n < 10; n++)
      for (const userId of ['stays', 'gone']) app.analytics.track({ userId, event: 'Waited' });
    await app.analytics.flush();
    await asked.promise;
    const deletions = await createDeletionStore(storageOf(app));
    const task = JSON.stringify({ userId: 'gone', sources: ['default'] });
    await deletions.add([{ key: userKey('gone'), at: Date.now(), task }]);
    isDeleted.resolve();
    await until(async () => ((await app.queue.getDelayedCount()) > 0 ? true : undefined));
    expect(await usersIn(app)).not.toContain('gone');
    const totals = createBacklogStore(storageOf(app));
    // Nine messages, once the first message is delivered.
    await until(async () => (await totals.all()).get('limited') === 9 || undefined);
  });

  it('does not read the failed jobs of other users again', async () => {
    const receiver = await stage.receiver({ answer: [404] });
    const app = await stage.app({ connection: backend.connection, webhooks: webhooksTo(receiver) });
    for (const userId of ['one', 'two', 'three', 'four']) {
      app.analytics.track({ userId, event: 'Refused' });
      await app.analytics.flush();
    }
    await app.settled();
    app.analytics.delete({ userId: 'one' });
    await until(async () => ((await usersIn(app)).includes('one') ? undefined : true));
    await app.settled();

    const getJob = app.queue.getJob.bind(app.queue);
    const read: string[] = [];
    app.queue.getJob = (id: string) => {
      read.push(id);
      return getJob(id);
    };
    const ids = await app.queue.getRanges(['failed'], 0, -1);
    app.analytics.delete({ userId: 'two' });
    const store = await createDeletionStore(storageOf(app));
    await until(async () => ((await store.find([userKey('two')])).size === 1 ? true : undefined));
    await until(async () => ((await store.pending(1)).length === 0 ? true : undefined));
    // The job of the deletion itself did not exist before.
    const known = read.filter((id) => ids.includes(id));
    expect(known.length).toBeLessThanOrEqual(2);
    app.queue.getJob = getJob;
    expect(await usersIn(app)).toEqual(['four', 'three']);
  });
});

describe('the deletion of users', () => {
  const stage = new Stage();

  const storeOf = (app: AnalyticsApp): Promise<DeletionStore> =>
    createDeletionStore(app.context.get<QueueBackend>(QUEUE_BACKEND).storage);

  const done = async (store: DeletionStore): Promise<void> => {
    await until(async () => (await store.pending(1)).length === 0 || undefined);
  };

  /** Returns a store of audiences whose `list` may fail. */
  async function audienceStore(list: (ofStore: AudienceStore['list']) => ReturnType<AudienceStore['list']>) {
    const { store } = await stage.add(AudiencesOn.open(await newConnection()));
    return { ...bound(store), list: () => list(() => store.list()) };
  }

  /** Runs `happens` each time before the failed jobs are listed. */
  function beforeListing(app: AnalyticsApp, happens: () => Promise<void>): void {
    const store = app.context.get(BatchStore);
    const ids = store.ids.bind(store);
    store.ids = async function* (state) {
      if (state === 'failed') await happens();
      yield* ids(state);
    };
  }

  it('ends even while more and more messages fail', async () => {
    const receiver = await stage.receiver({ answer: [404] });
    const app = await stage.app({ connection: await newConnection(), webhooks: webhooksTo(receiver) });
    const store = await storeOf(app);
    beforeListing(app, async () => {
      const failed = await app.queue.getFailedCount();
      app.analytics.track({ userId: 'stays', event: 'Refused' });
      await app.analytics.flush();
      await until(async () => (await app.queue.getFailedCount()) > failed || undefined);
    });
    app.analytics.delete({ userId: 'gone' });
    await until(async () => (await store.find([userKey('gone')])).size === 1 || undefined);
    await done(store);
  });

  it('is stored while another deletion is carried out, and so is a deletion from another source', async () => {
    const app = await stage.app({
      connection: await newConnection(),
      sources: ['web', 'shop'].map((name) => ({ name, writeKey: name })),
      webhooks: webhooksTo(await stage.receiver()),
    });
    const store = await storeOf(app);
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    let begin: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => (begin = resolve));
    beforeListing(app, () => {
      begin();
      return released;
    });
    app.analytics.delete({ userId: 'first' });
    await begun;
    const stored: unknown[] = [];
    for (const source of ['web', 'shop']) {
      app.analytics.source(source).delete({ userId: 'second' });
      const task = await until(async () =>
        (await store.pending(10))
          .map((deletion) => deletion.task)
          .find((one) => one.includes(source) && one.includes('second')),
      );
      stored.push(JSON.parse(task.split('\n').at(-1) ?? ''));
    }
    expect(stored).toEqual([
      { userId: 'second', sources: ['web'] },
      { userId: 'second', sources: ['shop'] },
    ]);
    release();
    await done(store);
  });

  it('is carried out while thousands of earlier deletions cannot be completed', async () => {
    const audiences = await audienceStore(() => Promise.reject(new Error('away')));
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: webhooksTo(await stage.receiver({ answer: [404] })),
      audiences: { store: audiences },
    });
    app.analytics.track({ userId: 'later', event: 'Refused' });
    await app.analytics.flush();
    await app.failedJobs();
    const before = Date.now() - 10_000;
    const earlier = Array.from({ length: 3_000 }, (_, n) => ({
      key: userKey(`user${n}`),
      at: before + n,
      task: JSON.stringify({ userId: `user${n}`, sources: ['default'] }),
    }));
    await (await storeOf(app)).add(earlier);
    app.analytics.delete({ userId: 'later' });
    const deliveries = app.context.get(DeliveriesService);
    await until(async () => (await deliveries.countFailed({ type: 'track' })) === 0 || undefined);
  });

  it('is stored in groups of a thousand when an application deletes many users at once', async () => {
    const { storage } = await stage.add(openBackend(await newConnection()));
    const store = await createDeletionStore(storage);
    const add = jest.spyOn(store, 'add');
    const eraser = new UserEraser(store, { erase: () => Promise.resolve(true) }, new LogLines());
    const users = messageIds('user', 2_500);
    const source = { source: 'web', isOfAllSources: true, tenant: undefined };
    const areStored = await Promise.all(users.map((userId) => eraser.add({ userId, ...source })));
    expect(areStored).toEqual(users.map(() => true));
    expect(add.mock.calls.map(([deletions]) => deletions.length)).toEqual([1_000, 1_000, 500]);
    expect((await store.find(users.map((userId) => userKey(userId)))).size).toBe(2_500);
    await done(store);
    expect(await eraser.close(10_000)).toBe(0);
  });

  it('is stored while the application closes, however long storing failed before', async () => {
    const { storage } = await stage.add(openBackend(await newConnection()));
    const store = await createDeletionStore(storage);
    const add = store.add.bind(store);
    const failedAgain = deferred();
    let tries = 0;
    store.add = (deletions) => {
      if (++tries === 3) failedAgain.resolve();
      return tries < 5 ? Promise.reject(new Error('away')) : add(deletions);
    };
    const eraser = new UserEraser(store, { erase: () => Promise.resolve(true) }, new LogLines());
    const reach = { source: 'web', isOfAllSources: true, tenant: undefined };
    const isStored = eraser.add({ userId: 'gone', ...reach });
    await failedAgain.promise;
    // Without the close, the next try would come after four seconds.
    expect(await eraser.close(3_500)).toBe(0);
    expect(await isStored).toBe(true);
    expect((await store.find([userKey('gone')])).size).toBe(1);
  });

  it('searches the messages only once, however long the search takes and whatever else fails meanwhile', async () => {
    const failed = deferred();
    let failures = 0;
    const audiences = await audienceStore((list) => {
      if (failures++ > 0) return list();
      failed.resolve();
      return Promise.reject(new Error('away'));
    });
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: webhooksTo(await stage.receiver()),
      audiences: { store: audiences },
    });
    const searched = deferred();
    let searches = 0;
    beforeListing(app, () => {
      searches++;
      return searched.promise;
    });
    app.analytics.delete({ userId: 'gone' });
    await failed.promise;
    await new Promise((resolve) => setImmediate(resolve));
    // The failure is logged, and the step retried, once the messages are removed.
    expect(app.log.analytics).toEqual([]);
    searched.resolve();
    const store = await storeOf(app);
    await until(async () => (await store.find([userKey('gone')])).size === 1 || undefined);
    await done(store);
    expect(searches).toBe(1);
    expect(app.log.analytics).toEqual([
      expect.stringMatching(/^warn: The deletion of 1 user is not complete yet \(/),
    ]);
  });

  it('is not held up by deletions that cannot be read, which are logged once', async () => {
    const connection = await newConnection();
    const options = { connection, webhooks: webhooksTo(await stage.receiver({ answer: [404] })) };
    const app = await stage.app(options);
    for (const userId of ['gone', 'unread', 'stays']) app.analytics.track({ userId, event: 'Refused' });
    await app.analytics.flush();
    await app.settled();
    const store = await storeOf(app);
    const at = Date.now();
    await store.add([
      { key: userKey('unread'), at, task: 'no JSON' },
      { key: userKey('of another version'), at, task: '{}' },
      { key: userKey('gone'), at, task: JSON.stringify({ userId: 'gone', sources: ['default'] }) },
    ]);
    await app.close();

    const next = await stage.app(options);
    await done(await storeOf(next));
    const bodies = (await next.context.get(DeliveriesService).failed()).map(({ body }) => body);
    expect(bodies).toEqual([expect.stringContaining('"stays"')]);
    expect(next.log.analytics).toEqual([
      expect.stringMatching(/^warn: The deletion of 2 users cannot be read/),
    ]);
  });
});

describeServersOrEmbedded('a job that another program wrote', (backend) => {
  const stage = new Stage();

  it('is counted, is listed with its error, and is neither replayed nor erased', async () => {
    const receiver = await stage.receiver({ answer: [404] });
    const app = await stage.app({
      connection: backend.connection,
      webhooks: webhooksTo(receiver),
      unknownJobTimeout: 0,
    });
    const deliveries = app.context.get(DeliveriesService);
    const written: unknown[] = [
      null,
      'text',
      { v: BATCH_JOB_VERSION },
      {
        v: BATCH_JOB_VERSION,
        batches: [{ destination: 'webhooks', source: 'default', messages: [{ id: 'm1' }] }],
      },
      { v: 99, batches: 'other' },
    ];
    const add = app.queue.add.bind(app.queue) as (name: string, data: unknown) => Promise<unknown>;
    for (const data of written) await add('batch', data);
    app.analytics.track({ userId: 'gone', event: 'Refused' });
    await app.analytics.flush();
    await app.settled();

    expect(await deliveries.counts()).toMatchObject({ failed: 6 });
    const failed = await deliveries.failed({ error: 'INVALID_JOB' });
    expect(failed.map(({ body }): unknown => JSON.parse(body)).reverse()).toEqual(
      // PostgreSQL stores `null` as an empty object.
      expect.arrayContaining(written.slice(1, 4)),
    );
    expect(failed).toHaveLength(4);
    expect(await deliveries.failed({ error: 'UNKNOWN_JOB_FORMAT' })).toMatchObject([{ type: undefined }]);
    const [first, ...others] = (await app.failedJobs()).map(({ failedReason }) => failedReason).sort();
    expect(first).toMatch(/^DELIVERY_FAILED/);
    expect(others.every((reason) => /^(INVALID_JOB|UNKNOWN_JOB_FORMAT): /.test(reason))).toBe(true);

    expect(await deliveries.replay()).toBe(1);
    await receiver.received(2);
    await app.settled();
    app.analytics.delete({ userId: 'gone' });
    await until(async () => ((await deliveries.failed({ type: 'track' })).length === 0 ? true : undefined));
    await app.analytics.flush();
    await receiver.received(3);
    await app.settled();
    expect(await deliveries.counts()).toMatchObject({ failed: 6 });
  });
});

import { expect, it } from '@jest/globals';
import { DeliveriesService, type FailedFilter } from '../../src/index.js';
import { BATCH_JOB_VERSION } from '../../src/queue/batch-job.js';
import type { AnalyticsApp } from '../support/analytics-app.js';
import { describeServersOrEmbedded } from '../support/describe-backend.js';
import { ifServer } from '../support/if-server.js';
import { messageIn } from '../support/received-message.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';

/** Retry window with a first retry after a few seconds, so that a job stays put back during a test. */
const SLOW = 4 * 60 * 60 * 1_000;

describeServersOrEmbedded('DeliveriesService', (backend) => {
  const stage = new Stage();

  function deliveriesOf(app: AnalyticsApp): DeliveriesService {
    return app.context.get(DeliveriesService);
  }

  /** Tracks each event in a job of its own. */
  async function track(app: AnalyticsApp, events: string[], userId = 'u1'): Promise<string[]> {
    const ids: string[] = [];
    for (const event of events) {
      ids.push(app.analytics.track({ userId, event }));
      await app.analytics.flush();
    }
    return ids;
  }

  it('counts waiting, delayed, active and failed messages, not jobs', async () => {
    const answers = new Map([['Retried', 503], ['Refused', 404], ['Hangs', undefined]]); // prettier-ignore
    const receiver = await stage.receiver({
      answer: (request) => answers.get(messageIn(request).event ?? '') ?? (() => undefined),
    });
    const app = await stage.app({
      connection: backend.connection,
      webhooks: webhooksTo(receiver, { retryWindow: SLOW }),
      shutdownTimeout: 500,
    });
    const deliveries = deliveriesOf(app);
    expect(await deliveries.counts()).toEqual({ waiting: 0, active: 0, delayed: 0, failed: 0 });

    for (const [event, count] of [['Refused', 3], ['Retried', 4], ['Hangs', 2]] as const) {
      for (let n = 0; n < count; n++) app.analytics.track({ userId: 'u1', event });
      await app.analytics.flush();
    } // prettier-ignore
    await until(async () => {
      const { active, delayed, failed } = await deliveries.counts();
      return active === 2 && delayed === 4 && failed === 3 ? true : undefined;
    });
    await app.queue.pause();
    await track(app, ['Waits']);
    expect(await deliveries.counts()).toEqual({ waiting: 1, active: 2, delayed: 4, failed: 3 });
    await app.queue.resume();
  });

  it('lists messages that failed for good, the latest first, with their bodies and what each URL answered', async () => {
    const receivers = [await stage.receiver({ answer: [404] }), await stage.receiver({ answer: [410] })];
    const app = await stage.app({ connection: backend.connection, webhooks: webhooksTo(receivers) });
    const ids: string[] = [];
    for (const event of ['First', 'Second', 'Third']) {
      ids.push(...(await track(app, [event])));
      await app.settled();
    }
    const failed = await deliveriesOf(app).failed();

    expect(failed.map(({ messageId }) => messageId)).toEqual(ids.reverse());
    expect(failed[0]).toEqual({
      messageId: ids[0],
      type: 'track',
      destination: 'webhooks',
      source: 'default',
      failedAt: expect.any(Number),
      error: 'DELIVERY_FAILED',
      waiting: false,
      outcomes: [
        expect.objectContaining({ status: 404, class: 'permanent' }),
        expect.objectContaining({ status: 410, class: 'permanent' }),
      ],
      body: receivers[0]?.requests[2]?.body.toString(),
    });
  });

  it('lists the messages between two positions, both included, and stops when its signal is aborted', async () => {
    const receiver = await stage.receiver({ answer: [404] });
    const app = await stage.app({ connection: backend.connection, webhooks: webhooksTo(receiver) });
    for (let n = 0; n < 25; n++) app.analytics.track({ userId: 'u1', event: `Event ${n}` });
    await app.analytics.flush();
    await app.settled();
    const deliveries = deliveriesOf(app);
    const all = (await deliveries.failed()).map(({ messageId }) => messageId);

    expect(new Set(all).size).toBe(25);
    const part = await deliveries.failed({ start: 5, end: 9 });
    expect(part.map(({ messageId }) => messageId)).toEqual(all.slice(5, 10));
    expect(await deliveries.failed({ start: 20 })).toHaveLength(5);
    expect(await deliveries.failed({ start: 25 })).toEqual([]);

    const reason = new Error('the page was closed');
    const page = new AbortController();
    const { signal } = page;
    const readings = [deliveries.failed({ signal }), deliveries.countFailed({ signal })];
    page.abort(reason);
    for (const reading of await Promise.allSettled(readings)) {
      expect(reading).toEqual({ status: 'rejected', reason });
    }
  });

  it('finds failed messages by destination, source, type, class, status, error and time', async () => {
    const receiver = await stage.receiver({
      answer: (request) => ({ Gone: 410, Slow: () => undefined })[messageIn(request).event ?? ''] ?? 404,
    });
    const app = await stage.app({
      connection: backend.connection,
      webhooks: webhooksTo(receiver, { timeout: 500, retryWindow: 1 }),
      unknownJobTimeout: 0,
    });
    await track(app, ['Gone', 'Slow']);
    app.analytics.identify({ userId: 'u1' });
    await app.analytics.flush();
    const orphan = { id: 'm1', body: '{"type":"track","event":"Orphan"}', outcomes: [] };
    await app.queue.add('batch', {
      v: BATCH_JOB_VERSION,
      batches: [{ destination: 'old', source: 'web', messages: [orphan] }],
    });
    await app.settled();

    const found: [FailedFilter, string[]][] = [
      [{}, ['Gone', 'Orphan', 'Slow', 'Unnamed']],
      [{ destination: 'old' }, ['Orphan']],
      [{ destination: 'nowhere' }, []],
      [{ source: 'default' }, ['Gone', 'Slow', 'Unnamed']],
      [{ type: 'identify' }, ['Unnamed']],
      [{ type: 'track', status: 410 }, ['Gone']],
      [{ class: 'permanent' }, ['Gone', 'Unnamed']],
      [{ class: 'retry' }, ['Slow']],
      [{ error: 'TIMEOUT' }, ['Slow']],
      [{ error: 'DESTINATION_NOT_FOUND' }, ['Orphan']],
      [{ error: 'DELIVERY_FAILED', status: 404 }, ['Unnamed']],
      [{ from: new Date(0), to: new Date() }, ['Gone', 'Orphan', 'Slow', 'Unnamed']],
      [{ to: 1 }, []],
      [{ from: Date.now() + 60_000 }, []],
    ];
    for (const [filter, events] of found) {
      const failed = await deliveriesOf(app).failed(filter);
      const names = failed.map(({ body }) => /"event":"(\w+)"/.exec(body)?.[1] ?? 'Unnamed');
      expect([filter, names.sort()]).toEqual([filter, events]);
    }
  });

  it('lists the failed messages of a batch that is still retried for its other messages', async () => {
    const receiver = await stage.receiver({
      answer: (request) => (messageIn(request).event === 'Refused' ? 404 : 503),
    });
    const app = await stage.app({
      connection: backend.connection,
      webhooks: webhooksTo(receiver, { retryWindow: SLOW }),
    });
    const deliveries = deliveriesOf(app);
    const messageId = app.analytics.track({ userId: 'u1', event: 'Refused' });
    app.analytics.track({ userId: 'u1', event: 'Retried' });
    await app.analytics.flush();
    await until(async () => ((await deliveries.counts()).delayed === 1 ? true : undefined));

    expect(await deliveries.counts()).toEqual({ waiting: 0, active: 0, delayed: 1, failed: 1 });
    expect(await deliveries.failed()).toMatchObject([
      { messageId, waiting: true, outcomes: [{ status: 404 }] },
    ]);
    expect(await deliveries.failed({ waiting: false })).toEqual([]);
    expect(await deliveries.replay()).toBe(0);
  });

  it('removes the failed messages of a deleted user, of any type, and no others', async () => {
    const receiver = await stage.receiver({ answer: [404] });
    const app = await stage.app({ connection: backend.connection, webhooks: webhooksTo(receiver) });
    const deliveries = deliveriesOf(app);
    await track(app, ['Alone'], 'gone');
    app.analytics.track({ userId: 'gone', event: 'Beside' });
    app.analytics.alias({ userId: 'gone', previousId: 'a1' });
    app.analytics.alias({ userId: 'u2', previousId: 'gone' });
    const other = app.analytics.track({ userId: 'u2', event: 'Kept', properties: { userId: 'gone' } });
    await app.analytics.flush();
    await app.settled();
    expect(await deliveries.failed()).toHaveLength(5);

    const deletion = app.analytics.delete({ userId: 'gone' });
    await app.analytics.flush();
    const kept = await until(async () => {
      const failed = await deliveries.failed();
      // The deletion itself fails too, perhaps after the messages of its user are gone.
      const isOver = failed.length === 2 && failed.some(({ messageId }) => messageId === deletion);
      return isOver ? failed : undefined;
    });
    expect(kept.map(({ messageId }) => messageId).sort()).toEqual([other, deletion].sort());
    expect(kept.map(({ type }) => type).sort()).toEqual(['delete', 'track']);

    app.analytics.delete({ userId: 'gone' });
    await app.close();
    const after = await stage.app({ connection: backend.connection, webhooks: webhooksTo(receiver) });
    await after.settled();
    const left = (await deliveriesOf(after).failed()).map(({ messageId }) => messageId);
    expect(left).toEqual(expect.arrayContaining([other, deletion]));
  });

  it('removes the messages of a deleted user before the application has closed', async () => {
    const { connection } = backend;
    const receiver = await stage.receiver({ answer: [404] });
    const app = await stage.app({ connection, webhooks: webhooksTo(receiver) });
    await track(app, ['Alone'], 'gone');
    await app.settled();
    app.analytics.delete({ userId: 'gone' });
    await app.close();
    // Only the line about what the receiver answered before.
    expect(app.log.analytics).toEqual([expect.stringMatching(/ does not take events: status 404/)]);

    const after = await stage.app({ connection, webhooks: webhooksTo(receiver) });
    await after.settled();
    expect((await deliveriesOf(after).failed()).map(({ type }) => type)).toEqual(['delete']);
  });

  ifServer(backend, (remote) => {
    it('removes the messages of a user who was deleted while the queue was away, once the queue is back', async () => {
      const receiver = await stage.receiver({ answer: [404] });
      const app = await stage.app({ connection: backend.connection, webhooks: webhooksTo(receiver) });
      await track(app, ['Alone'], 'gone');
      await app.settled();
      await remote.server.stop();
      await app.log.line(/cannot be reached/);
      app.analytics.delete({ userId: 'gone' });
      // With Redis, commands wait until the server is back, so that nothing fails.
      if (remote.name === 'PostgreSQL') await app.log.line(/The deletion of 1 user is not complete yet/);
      await remote.server.start();

      await until(async () => {
        const types = (await deliveriesOf(app).failed()).map(({ type }) => type);
        return types.includes('delete') && !types.includes('track') ? true : undefined;
      });
    });

    it('logs on closing how many users still have messages that could not be removed', async () => {
      const receiver = await stage.receiver({ answer: [404] });
      const app = await stage.app({
        connection: backend.connection,
        webhooks: webhooksTo(receiver),
        shutdownTimeout: 500,
      });
      await remote.server.stop();
      await app.log.line(/cannot be reached/);
      app.analytics.delete({ userId: 'gone' });
      app.analytics.delete({ userId: 'gone' });
      app.analytics.delete({ userId: 'gone too' });
      await app.close();
      expect(app.log.analytics.at(-1)).toMatch(/^warn: .* kept messages of 2 deleted users could be removed/);
    });
  });
});

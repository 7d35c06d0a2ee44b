import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { filter, firstValueFrom, map, take, toArray } from 'rxjs';
import { DeliveriesService } from '../../src/index.js';
import { BATCH_JOB_VERSION, type QueuedBatch } from '../../src/queue/batch-job.js';
import type { AnalyticsApp, AppOptions } from '../support/analytics-app.js';
import { describeRedis, describeServersOrEmbedded } from '../support/describe-backend.js';
import { queuedMessages } from '../support/queued-messages.js';
import type { Receiver } from '../support/receiver.js';
import { OUT_OF_MEMORY } from '../support/redis-refusals.js';
import { RedisServer } from '../support/redis-server.js';
import { Stage, webhooksTo } from '../support/stage.js';

/** Long enough for many attempts. The first retry comes after a few milliseconds. */
const RETRY_WINDOW = 20_000;
const NOTHING = { waiting: 0, active: 0, delayed: 0, failed: 0 };

function batchFor(destination: string, id = `for ${destination}`, body = '{"type":"track"}'): QueuedBatch {
  const message = { id, body, outcomes: [] };
  return { destination, source: 'default', messages: [message] };
}

describeServersOrEmbedded('batches that share a job, each for a destination of its own,', (backend) => {
  const stage = new Stage();

  /** Starts an application whose destinations are named after their receivers. */
  function appFor(
    receivers: Record<string, Receiver>,
    options: Partial<AppOptions> = {},
  ): Promise<AnalyticsApp> {
    return stage.app({
      connection: backend.connection,
      webhooks: Object.entries(receivers).map(([id, receiver]) =>
        webhooksTo(receiver, { id, timeout: 60_000, retryWindow: RETRY_WINDOW }),
      ),
      ...options,
    });
  }

  it('form one job, which counts every message for each destination and is done with the last batch', async () => {
    const { answer, answered } = heldAnswer();
    const silent = (): Promise<Receiver> => stage.receiver({ answer: () => answered });
    const receivers = { a: await silent(), b: await silent(), c: await silent() };
    const app = await appFor(receivers);
    for (const event of ['One', 'Two']) app.analytics.track({ userId: 'u1', event });
    await app.analytics.flush();
    await Promise.all(Object.values(receivers).map((receiver) => receiver.received(1)));
    const [job, ...others] = await app.queue.getActive();
    expect(others).toEqual([]);
    expect(job?.data.batches.map(({ destination, messages }) => [destination, messages.length])).toEqual([
      ['a', 2],
      ['b', 2],
      ['c', 2],
    ]);
    expect(await app.context.get(DeliveriesService).counts()).toEqual({ ...NOTHING, active: 6 });

    answer(200);
    await app.settled();
    expect(Object.values(receivers).map(({ requests }) => requests.length)).toEqual([2, 2, 2]);
    expect(await app.queue.getCompletedCount()).toBe(1);
  });

  it('go on alone after the first attempt, and are not sent again to a destination that has taken the message', async () => {
    const receivers = { up: await stage.receiver(), down: await stage.receiver({ answer: [503, 503, 200] }) };
    const app = await appFor(receivers);
    const { outcomes$ } = app.context.get(DeliveriesService);
    const told = firstValueFrom(outcomes$.pipe(take(4), toArray()));
    app.analytics.track({ userId: 'u1', event: 'Shared' });
    await app.analytics.flush();

    expect((await told).map(({ destination, class: outcome }) => `${destination}: ${outcome}`)).toEqual([
      'up: delivered',
      'down: retry',
      'down: retry',
      'down: delivered',
    ]);
    await app.settled();
    expect([receivers.up.requests.length, receivers.down.requests.length]).toEqual([1, 3]);
  });

  it('fail for good alone, are listed under their destination, and are replayed only to it', async () => {
    const receivers = {
      up: await stage.receiver(),
      gone: await stage.receiver({ answer: [410, 200] }),
      down: await stage.receiver({ answer: [503, 200] }),
    };
    const app = await appFor(receivers);
    const deliveries = app.context.get(DeliveriesService);
    // When a failure is reported, the message can already be listed.
    const listed = firstValueFrom(
      deliveries.outcomes$.pipe(
        filter((outcome) => outcome.class === 'failed'),
        map(() => deliveries.failed()),
      ),
    );
    const messageId = app.analytics.track({ userId: 'u1', event: 'Shared' });
    await app.analytics.flush();

    expect(await listed).toMatchObject([
      { messageId, destination: 'gone', error: 'DELIVERY_FAILED', outcomes: [{ status: 410, attempt: 1 }] },
    ]);
    const [job] = await app.failedJobs();
    expect(job?.failedReason).toMatch(/^DELIVERY_FAILED: 1 message could/);
    expect(await deliveries.replay()).toBe(1);
    await Promise.all([receivers.gone.received(2), receivers.down.received(2)]);
    await app.settled();
    expect(receivers.up.requests).toHaveLength(1);
    expect(await deliveries.counts()).toEqual(NOTHING);
  });

  it('are refused alone when their destination is gone', async () => {
    const receivers = { stays: await stage.receiver() };
    const app = await appFor(receivers, { unknownJobTimeout: 0 });
    await app.queue.add('batch', { v: BATCH_JOB_VERSION, batches: [batchFor('stays'), batchFor('goes')] });
    const [job] = await app.failedJobs();
    expect(job?.failedReason).toMatch(/^DESTINATION_NOT_FOUND: .*"goes"/);
    expect(queuedMessages(job)).toMatchObject([{ id: 'for goes' }]);
    await app.settled();
    expect(receivers.stays.requests.map(({ headers }) => headers['webhook-id'])).toEqual(['for stays']);
    expect(app.log.errors).toHaveLength(1);
  });

  it('are recorded as done while another batch still waits for its answer', async () => {
    const receivers = {
      up: await stage.receiver(),
      silent: await stage.receiver({ answer: [() => undefined] }),
    };
    const app = await appFor(receivers, { shutdownTimeout: 1_000 });
    const deliveries = app.context.get(DeliveriesService);
    const first = firstValueFrom(deliveries.outcomes$);
    app.analytics.track({ userId: 'u1', event: 'Shared' });
    await app.analytics.flush();

    expect(await first).toMatchObject({ destination: 'up', class: 'delivered' });
    expect(await deliveries.counts()).toEqual({ ...NOTHING, active: 1 });
    const [job] = await app.queue.getActive();
    expect(job?.data.batches.map(({ destination }) => destination)).toEqual(['silent']);
  });

  it('are put back alone by a shutdown if they were not answered', async () => {
    const receivers = {
      up: await stage.receiver(),
      silent: await stage.receiver({ answer: [() => undefined, 200] }),
    };
    const first = await appFor(receivers, { shutdownTimeout: 2_000 });
    first.analytics.track({ userId: 'u1', event: 'Shared' });
    await first.analytics.flush();
    await Promise.all([receivers.up.received(1), receivers.silent.received(1)]);
    await first.close();

    const second = await appFor(receivers);
    await receivers.silent.received(2);
    await second.settled();
    expect(receivers.up.requests).toHaveLength(1);
  });

  it('are put back only once if their job is worked on again after a crash', async () => {
    const later = { status: 503, headers: { 'retry-after': '60' } };
    const receivers = { up: await stage.receiver(), down: await stage.receiver({ answer: [later] }) };
    const batches = [batchFor('up'), batchFor('down')];
    const work = async (times: number): Promise<AnalyticsApp> => {
      const app = await appFor(receivers);
      const terms = { jobId: 'shared', removeOnComplete: true };
      await app.queue.add('batch', { v: BATCH_JOB_VERSION, batches }, terms);
      await Promise.all([receivers.up.received(times), receivers.down.received(times)]);
      while ((await app.queue.getJob('shared')) !== undefined) await new Promise(setImmediate);
      return app;
    };
    await (await work(1)).close();
    // The end of the job did not get into the queue, so the job is there as before.
    const app = await work(2);
    const delayed = await app.queue.getDelayed();
    expect(delayed.map(({ id }) => id)).toEqual([expect.stringMatching(/^shared-/)]);
    expect(queuedMessages(...delayed)).toMatchObject([
      { id: 'for down', outcomes: [{ status: 503, attempt: 1 }] },
    ]);
  });

  it('are all put back, even if two of them are for the same destination', async () => {
    const later = { status: 503, headers: { 'retry-after': '60' } };
    const receivers = { down: await stage.receiver({ answer: [later] }) };
    const app = await appFor(receivers);
    // The last two messages have the same id, which the application may give to any message.
    const batches = [
      batchFor('down', 'one'),
      batchFor('down', 'two'),
      batchFor('down', 'two', '{"type":"page"}'),
    ];
    const terms = { jobId: 'shared', removeOnComplete: true };
    await app.queue.add('batch', { v: BATCH_JOB_VERSION, batches }, terms);
    await receivers.down.received(1);
    while ((await app.queue.getJob('shared')) !== undefined) await new Promise(setImmediate);
    const left = queuedMessages(...(await app.queue.getDelayed()));
    expect(left.map(({ id }) => id).sort()).toEqual(['one', 'two', 'two']);
  });
});

describeRedis('a delivery during which Redis stores nothing', () => {
  const stage = new Stage();
  let server: RedisServer;
  let admin: Redis;
  beforeAll(async () => {
    server = await RedisServer.create({ appendOnly: true });
    admin = new Redis(server.url());
  });
  afterEach(() => OUT_OF_MEMORY.end(admin, server));
  afterAll(async () => {
    admin.disconnect();
    await server.dispose();
  });

  /** Makes the server refuse everything. `refused` resolves when it has refused data with this text. */
  async function refuse(text: string): Promise<{ refused: Promise<void> }> {
    // `ioredis` throws if commands of other clients arrive together with the answer to MONITOR.
    const monitor = connect(server.port, '127.0.0.1');
    monitor.write('MONITOR\r\n');
    await once(monitor, 'data');
    // Redis escapes the quotation marks.
    const escaped = text.replaceAll('"', '\\"');
    const refused = new Promise<void>((resolve) => {
      let seen = '';
      monitor.on('data', (chunk) => {
        seen += String(chunk);
        if (!seen.includes(escaped)) return;
        monitor.destroy();
        resolve();
      });
    });
    await OUT_OF_MEMORY.begin(admin, server);
    return { refused };
  }

  it('is recorded when Redis stores data again, so that no destination of a shared job gets a message twice', async () => {
    const first = heldAnswer();
    const last = heldAnswer();
    const receivers = {
      first: await stage.receiver({ answer: () => first.answered }),
      last: await stage.receiver({ answer: () => last.answered }),
    };
    const app = await stage.app({
      connection: server.url(),
      webhooks: Object.entries(receivers).map(([id, receiver]) => webhooksTo(receiver, { id })),
    });
    app.analytics.track({ userId: 'u1', event: 'Shared' });
    await app.analytics.flush();
    await Promise.all(Object.values(receivers).map((receiver) => receiver.received(1)));
    const { refused } = await refuse('"batches":[{"destination":"last"');
    first.answer(200);
    await refused;
    await app.log.line(/takes no more jobs/);
    await OUT_OF_MEMORY.end(admin, server);
    last.answer(200);
    await app.settled();
    expect(Object.values(receivers).map(({ requests }) => requests.length)).toEqual([1, 1]);
  });

  it('is recorded when Redis stores data again, so that only the rest of a batch is retried', async () => {
    const { answer, answered } = heldAnswer();
    const receiver = await stage.receiver({
      answer: async ({ headers }, index) => {
        await answered;
        return headers['webhook-id'] === 'refused' && index < 2 ? 503 : 200;
      },
    });
    const app = await stage.app({
      connection: server.url(1),
      webhooks: webhooksTo(receiver, { retryWindow: RETRY_WINDOW }),
    });
    for (const messageId of ['taken', 'refused']) {
      app.analytics.track({ userId: 'u1', event: 'Of a batch', messageId });
    }
    await app.analytics.flush();
    await receiver.received(2);
    const { refused } = await refuse('"status":503');
    answer(200);
    await refused;
    await OUT_OF_MEMORY.end(admin, server);
    await app.settled();
    const ids = receiver.requests.map(({ headers }) => headers['webhook-id']);
    expect(ids.sort()).toEqual(['refused', 'refused', 'taken']);
  });
});

function heldAnswer(): { answer: (status: number) => void; answered: Promise<number> } {
  let answer: (status: number) => void = () => undefined;
  const answered = new Promise<number>((resolve) => {
    answer = resolve;
  });
  return {
    answer: (status) => {
      answer(status);
    },
    answered,
  };
}

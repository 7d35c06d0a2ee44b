import { createHmac } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { describeBackend } from '../support/describe-backend.js';
import { queuedMessages } from '../support/queued-messages.js';
import { eventsIn, messageIn } from '../support/received-message.js';
import { Stage, webhooksTo } from '../support/stage.js';

/** Long enough for many attempts. The first retry comes after a few milliseconds. */
const RETRY_WINDOW = 20_000;

describeBackend('delivery', (backend) => {
  const stage = new Stage();

  it('sends 45 messages to the receiver, each once and signed over its bytes', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({
      connection: backend.connection,
      webhooks: webhooksTo(receiver, { sharedSecret: 'teehee', headers: { 'X-Env': 'test' } }),
    });
    const ids = Array.from({ length: 45 }, (_, n) =>
      app.analytics.track({ userId: 'u1', event: `Event ${n}` }),
    );
    expect(await app.analytics.flush()).toEqual({ queued: 45, refused: 0, pending: 0 });
    const requests = await receiver.received(45);
    await app.settled();

    expect(requests.map((request) => request.headers['webhook-id']).sort()).toEqual(ids.sort());
    for (const { headers, body } of requests) {
      expect(headers).toMatchObject({
        'x-env': 'test',
        'x-signature': createHmac('sha1', 'teehee').update(body).digest('hex'),
      });
    }
  });

  it('retries a message that was answered with 503, with the same id and the same bytes', async () => {
    const receiver = await stage.receiver({ answer: [503, 200] });
    const app = await stage.app({
      connection: backend.connection,
      webhooks: webhooksTo(receiver, { retryWindow: RETRY_WINDOW }),
    });
    const id = app.analytics.track({ userId: 'u1', event: 'Retried' });
    await app.analytics.flush();
    const [first, second] = await receiver.received(2);
    await app.settled();

    expect([first?.headers['webhook-id'], second?.headers['webhook-id']]).toEqual([id, id]);
    expect(second?.body).toEqual(first?.body);
    expect(receiver.requests).toHaveLength(2);
  });

  it('retries only the message of a batch that was not delivered', async () => {
    let refusals = 0;
    const receiver = await stage.receiver({
      answer: (request) => (messageIn(request).event === 'Event 3' && ++refusals <= 2 ? 503 : 200),
    });
    const app = await stage.app({
      connection: backend.connection,
      webhooks: webhooksTo(receiver, { retryWindow: RETRY_WINDOW }),
    });
    for (let n = 0; n < 5; n++) app.analytics.track({ userId: 'u1', event: `Event ${n}` });
    await app.analytics.flush();
    await receiver.received(7);
    await app.settled();

    expect(eventsIn(receiver.requests)).toEqual([
      'Event 0', 'Event 1', 'Event 2', 'Event 3', 'Event 3', 'Event 3', 'Event 4',
    ]); // prettier-ignore
  });

  it('keeps a message as failed that every URL refused for good, with the answer of each URL', async () => {
    const receivers = [await stage.receiver({ answer: [404] }), await stage.receiver({ answer: [410] })];
    const app = await stage.app({ connection: backend.connection, webhooks: webhooksTo(receivers) });
    const id = app.analytics.track({ userId: 'u1', event: 'Refused' });
    await app.analytics.flush();
    const [job] = await app.failedJobs();

    expect(job?.failedReason).toMatch(/^DELIVERY_FAILED: /);
    expect(queuedMessages(job)).toMatchObject([
      {
        id,
        outcomes: [
          { status: 404, class: 'permanent' },
          { status: 410, class: 'permanent' },
        ],
      },
    ]);
    expect(receivers.map(({ requests }) => requests.length)).toEqual([1, 1]);
  });

  it('settles a message as delivered once one of its URLs took it, without retrying the other URL', async () => {
    const down = await stage.receiver({ answer: [503] });
    const up = await stage.receiver();
    const app = await stage.app({
      connection: backend.connection,
      webhooks: webhooksTo([down, up], { retryWindow: RETRY_WINDOW }),
    });
    app.analytics.track({ userId: 'u1', event: 'Taken once' });
    await app.analytics.flush();
    await Promise.all([up.received(1), down.received(1)]);
    await app.settled();

    expect([up.requests.length, down.requests.length]).toEqual([1, 1]);
    expect(await app.queue.getFailedCount()).toBe(0);
  });

  it('gives up when the retry window is over, after a last attempt at its end', async () => {
    const receiver = await stage.receiver({ answer: [503] });
    const app = await stage.app({
      connection: backend.connection,
      webhooks: webhooksTo(receiver, { retryWindow: 1_500 }),
    });
    const id = app.analytics.track({ userId: 'u1', event: 'Never taken' });
    await app.analytics.flush();
    const [job] = await app.failedJobs();

    const [message] = queuedMessages(job);
    expect(job?.failedReason).toMatch(/^DELIVERY_FAILED: /);
    expect(message).toMatchObject({ id, outcomes: [{ status: 503, class: 'retry' }] });
    const lastAttempt = Number(message?.outcomes[0]?.at) - Number(job?.data.batches[0]?.firstAttemptAt);
    expect(lastAttempt).toBeGreaterThanOrEqual(1_499);
    expect(receiver.requests.length).toBeGreaterThan(3);
  });

  it('keeps a message as failed if its destination is gone, and sends it nowhere else', async () => {
    const { connection } = backend;
    const old = await stage.receiver({ answer: [503] });
    const before = await stage.app({
      connection,
      webhooks: [webhooksTo(old, { id: 'old', retryWindow: RETRY_WINDOW })],
    });
    before.analytics.track({ userId: 'u1', event: 'Orphan' });
    await before.analytics.flush();
    await old.received(1);
    await before.close();

    const other = await stage.receiver();
    const after = await stage.app({
      connection,
      webhooks: [webhooksTo(other, { id: 'new' })],
      unknownJobTimeout: 0,
    });
    const [job] = await after.failedJobs();
    expect(job?.failedReason).toMatch(/^DESTINATION_NOT_FOUND: .*"old"/);
    expect(queuedMessages(job)).toHaveLength(1);
    expect(other.requests).toEqual([]);
  });

  it('keeps a job as failed if its format is unknown', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({
      connection: backend.connection,
      webhooks: webhooksTo(receiver),
      unknownJobTimeout: 0,
    });
    await app.queue.add('batch', { v: 99, batches: [] });
    const [job] = await app.failedJobs();

    expect(job?.failedReason).toMatch(/^UNKNOWN_JOB_FORMAT: .*99/);
    expect(receiver.requests).toEqual([]);
  });

  it('writes no secret, URL or header value into a job, not even into a failed job', async () => {
    const receiver = await stage.receiver({ answer: [{ status: 404, body: 'no such hook' }] });
    const app = await stage.app({
      connection: backend.connection,
      webhooks: {
        urls: [receiver.url('/hook/url-token')],
        headers: { 'X-Token': 'header-token' },
        sharedSecret: 'signing-token',
        allowPrivateNetwork: true,
      },
    });
    app.analytics.track({ userId: 'u1', event: 'Refused' });
    await app.analytics.flush();
    const [job] = await app.failedJobs();

    const stored = JSON.stringify(job?.asJSON());
    expect(stored).toContain('no such hook');
    expect(stored).not.toMatch(/127\.0\.0\.1|url-token|header-token|signing-token/);
  });

  it('sends each message to every destination that its source is connected to', async () => {
    const [crm, warehouse] = [await stage.receiver(), await stage.receiver()];
    const app = await stage.app({
      connection: backend.connection,
      writeKey: undefined,
      sources: [
        { name: 'web', writeKey: 'wk_web' },
        { name: 'app', writeKey: 'wk_app' },
      ],
      webhooks: [
        webhooksTo(crm, { id: 'crm', sources: ['web'] }),
        webhooksTo(warehouse, { id: 'warehouse' }),
      ],
    });
    app.analytics.track({ userId: 'u1', event: 'Web' });
    app.analytics.source('app').track({ userId: 'u1', event: 'App' });
    expect(await app.analytics.flush()).toEqual({ queued: 2, refused: 0, pending: 0 });
    await warehouse.received(2);
    await app.settled();

    expect(eventsIn(warehouse.requests)).toEqual(['App', 'Web']);
    expect(eventsIn(crm.requests)).toEqual(['Web']);
  });
});

import { expect, it } from '@jest/globals';
import { firstValueFrom, lastValueFrom, map, take, toArray } from 'rxjs';
import { DeliveriesService } from '../../src/index.js';
import { describeAnyServer } from '../support/describe-backend.js';
import { Stage, webhooksTo } from '../support/stage.js';

/** Long enough for many attempts. The first retry comes after a few milliseconds. */
const RETRY_WINDOW = 20_000;

describeAnyServer('outcomes$', (backend) => {
  const stage = new Stage();

  it('reports a message at every attempt: first as retried, then as delivered', async () => {
    const receiver = await stage.receiver({ answer: [503, 200] });
    const app = await stage.app({
      connection: backend.connection,
      webhooks: webhooksTo(receiver, { retryWindow: RETRY_WINDOW }),
    });
    const { outcomes$ } = app.context.get(DeliveriesService);
    const both = firstValueFrom(outcomes$.pipe(take(2), toArray()));
    const messageId = app.analytics.track({ userId: 'u1', event: 'Retried' });
    await app.analytics.flush();

    const common = { messageId, type: 'track', destination: 'webhooks', source: 'default' };
    expect(await both).toEqual([
      { ...common, class: 'retry', outcomes: [expect.objectContaining({ status: 503, attempt: 1 })] },
      { ...common, class: 'delivered', outcomes: [expect.objectContaining({ status: 200, attempt: 2 })] },
    ]);
  });

  it('shows which URL failed while another URL took the message', async () => {
    const receivers = [
      await stage.receiver(),
      await stage.receiver({ answer: [503] }),
      await stage.receiver({ answer: [{ status: 404, body: 'no such hook' }] }),
    ];
    const app = await stage.app({ connection: backend.connection, webhooks: webhooksTo(receivers) });
    const first = firstValueFrom(app.context.get(DeliveriesService).outcomes$);
    app.analytics.identify({ userId: 'u1' });
    await app.analytics.flush();

    const outcome = await first;
    expect(outcome).toMatchObject({ type: 'identify', class: 'delivered' });
    expect(outcome.outcomes).toMatchObject([
      { class: 'delivered', status: 200 },
      { class: 'retry', status: 503 },
      { class: 'permanent', status: 404, excerpt: 'no such hook' },
    ]);
  });

  it('reports that a message failed for good only once it is kept and can be listed', async () => {
    const receiver = await stage.receiver({ answer: [410] });
    const app = await stage.app({ connection: backend.connection, webhooks: webhooksTo(receiver) });
    const deliveries = app.context.get(DeliveriesService);
    const kept = firstValueFrom(
      deliveries.outcomes$.pipe(map(async (outcome) => ({ outcome, failed: await deliveries.failed() }))),
    );
    const messageId = app.analytics.track({ userId: 'u1', event: 'Refused' });
    await app.analytics.flush();

    const { outcome, failed } = await kept;
    expect(outcome).toMatchObject({ messageId, class: 'failed', outcomes: [{ status: 410 }] });
    expect(failed).toMatchObject([{ messageId }]);
  });

  it('reports messages whose destination is gone, and logs once what to do', async () => {
    const { connection } = backend;
    const old = await stage.receiver();
    const producer = await stage.app({
      connection,
      webhooks: webhooksTo(old, { id: 'old' }),
      worker: typeof connection !== 'string',
      concurrency: 1,
    });
    await producer.queue.pause();
    producer.analytics.track({ userId: 'u1', event: 'Orphan' });
    await producer.analytics.flush();
    producer.analytics.track({ userId: 'u1', event: 'Orphan too' });
    await producer.analytics.flush();
    await producer.close();

    const app = await stage.app({
      connection,
      webhooks: webhooksTo(old, { id: 'new' }),
      unknownJobTimeout: 0,
    });
    const both = firstValueFrom(app.context.get(DeliveriesService).outcomes$.pipe(take(2), toArray()));
    await app.queue.resume();
    const orphan = { destination: 'old', class: 'failed', error: 'DESTINATION_NOT_FOUND', outcomes: [] };
    expect(await both).toMatchObject([orphan, orphan]);
    await app.settled();
    expect(app.log.analytics).toEqual([
      expect.stringMatching(
        /^error: No destination has the id "old".* `webhooks` or `customDestinations`.* \(DESTINATION_NOT_FOUND\)\.$/,
      ),
    ]);
    expect(old.requests).toEqual([]);
  });

  it('continues, as delivery does, if subscribers throw, and logs each place once without payloads', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({ connection: backend.connection, webhooks: webhooksTo(receiver) });
    const { outcomes$ } = app.context.get(DeliveriesService);
    outcomes$.subscribe((outcome) => {
      throw new RangeError(`cannot stand ${outcome.messageId}`);
    });
    // eslint-disable-next-line @typescript-eslint/no-misused-promises -- what applications do
    outcomes$.subscribe(async (outcome) => {
      await Promise.reject(new SyntaxError(outcome.messageId));
    });
    const heard = firstValueFrom(outcomes$.pipe(take(3), toArray()));
    for (let n = 0; n < 3; n++)
      app.analytics.track({ userId: 'u1', event: 'Told', messageId: `secret-${n}` });
    await app.analytics.flush();
    expect(await heard).toHaveLength(3);
    await app.settled();

    expect(app.log.analytics).toEqual([
      expect.stringMatching(/^error: A subscriber of `outcomes\$` threw RangeError at /),
      expect.stringMatching(/^error: A subscriber of `outcomes\$` threw SyntaxError at /),
    ]);
    expect(app.log.analytics.join()).not.toContain('secret');
  });

  it('completes when the application closes', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({ connection: backend.connection, webhooks: webhooksTo(receiver) });
    const { outcomes$, endpoints$ } = app.context.get(DeliveriesService);
    const ends = Promise.all([
      lastValueFrom(outcomes$, { defaultValue: 'ended' }),
      lastValueFrom(endpoints$, { defaultValue: 'ended' }),
    ]);
    await app.close();
    expect(await ends).toEqual(['ended', 'ended']);
  });
});

import { afterEach, describe, expect, it } from '@jest/globals';
import { AnalyticsModule, type WebhooksOptions } from '../../src/index.js';
import { startTestReceiver, type TestReceiver, type TestReceiverOptions } from '../../src/testing/index.js';
import type { AnalyticsApp } from '../support/analytics-app.js';
import { Stage } from '../support/stage.js';

const STANDARD = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const stage = new Stage();
const receivers: TestReceiver[] = [];
afterEach(async () => {
  for (const receiver of receivers.splice(0)) await receiver.close();
});

async function start(options?: TestReceiverOptions): Promise<TestReceiver> {
  const receiver = await startTestReceiver(options);
  receivers.push(receiver);
  return receiver;
}

function deliverTo(receiver: TestReceiver, options: Partial<WebhooksOptions> = {}): Promise<AnalyticsApp> {
  const webhooks = { urls: [receiver.url], allowPrivateNetwork: true, ...options };
  return stage.appWith([AnalyticsModule.forRoot({ writeKey: 'wk', flushAt: 1, webhooks })]);
}

describe('the test receiver', () => {
  it('keeps the requests of an application, and whether their signatures are right', async () => {
    const receiver = await start({ sharedSecret: 'secret' });
    const app = await deliverTo(receiver, { sharedSecret: 'secret' });
    const messageId = app.analytics.track({ userId: 'u1', event: 'Order Completed' });
    const [request] = await receiver.waitFor(1, { timeout: 20_000 });
    expect(request).toMatchObject({
      method: 'POST',
      path: '/',
      headers: { 'webhook-id': messageId },
      message: { event: 'Order Completed', userId: 'u1' },
      verified: true,
    });
    expect(JSON.parse(String(request?.rawBody))).toEqual(request?.message);
    receiver.clear();
    expect(receiver.requests).toEqual([]);
  });

  it('verifies every signature for which it has a secret', async () => {
    const standardWebhooks = { secret: STANDARD };
    const cases: [TestReceiverOptions, Partial<WebhooksOptions>, boolean | undefined][] = [
      [{}, { sharedSecret: 'secret' }, undefined],
      [{ sharedSecret: ['new', 'secret'] }, { sharedSecret: 'secret' }, true],
      [{ sharedSecret: 'other' }, { sharedSecret: 'secret' }, false],
      [{ sharedSecret: 'secret' }, {}, false],
      [{ standardWebhooks }, { standardWebhooks }, true],
      [{ standardWebhooks }, {}, false],
      [{ sharedSecret: 'secret', standardWebhooks }, { sharedSecret: 'secret' }, false],
    ];
    const started = await Promise.all(cases.map(([options]) => start(options)));
    const webhooks = started.map(({ url }, index) => ({
      id: `case-${index}`,
      urls: [url],
      allowPrivateNetwork: true,
      ...cases[index]?.[1],
    }));
    const app = await stage.appWith([AnalyticsModule.forRoot({ writeKey: 'wk', flushAt: 1, webhooks })]);
    app.analytics.track({ userId: 'u1', event: 'Order Completed' });
    const verified = await Promise.all(
      started.map(async (receiver) => (await receiver.waitFor(1, { timeout: 20_000 }))[0]?.verified),
    );
    expect(verified).toEqual(cases.map(([, , expected]) => expected));
  });

  it('answers as it is told, once or from then on', async () => {
    const receiver = await start({ answer: 500 });
    receiver.answerOnce(201, { status: 422, headers: { 'x-reason': 'no' }, body: 'not this one', delay: 1 });
    const post = (): Promise<Response> => fetch(receiver.url, { method: 'POST', body: 'text' });
    expect((await post()).status).toBe(201);
    const second = await post();
    expect([second.status, second.headers.get('x-reason'), await second.text()]).toEqual([
      422,
      'no',
      'not this one',
    ]);
    expect((await post()).status).toBe(500);
    receiver.answer({ body: 'fine' });
    expect(await (await post()).text()).toBe('fine');
    expect(receiver.requests.map(({ message }) => message)).toEqual([{}, {}, {}, {}]);
  });

  it('resets a connection, after which the application tries again', async () => {
    const receiver = await start();
    receiver.answerOnce('reset');
    const app = await deliverTo(receiver);
    app.analytics.track({ userId: 'u1', event: 'Order Completed' });
    const [first, second] = await receiver.waitFor(2, { timeout: 25_000 });
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
  });

  it('hangs until it is closed', async () => {
    const receiver = await start({ answer: 'hang' });
    const answered = fetch(receiver.url, { method: 'POST' });
    await receiver.waitFor(1);
    await receiver.close();
    await expect(answered).rejects.toThrow('fetch failed');
    await receiver.close();
  });

  it('says what has arrived if the rest does not', async () => {
    const receiver = await start();
    await fetch(`${receiver.url}hooks?a=1`, { method: 'POST' });
    await expect(receiver.waitFor(2, { timeout: 1 })).rejects.toMatchObject({
      code: 'WAIT_TIMEOUT',
      message: 'Waited 1 ms for 2 requests. What has arrived: POST /hooks?a=1.',
    });
  });

  it('refuses wrong secrets when it starts', async () => {
    await expect(start({ sharedSecret: '' })).rejects.toMatchObject({ code: 'INVALID_SECRET' });
    const standardWebhooks = { secret: 'short' };
    await expect(start({ standardWebhooks })).rejects.toMatchObject({ code: 'INVALID_SECRET' });
  });
});

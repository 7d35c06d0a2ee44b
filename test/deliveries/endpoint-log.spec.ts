import { describe, expect, it } from '@jest/globals';
import { freePort } from '../support/free-port.js';
import { quickConnections } from '../support/quick-connections.js';
import { Stage, webhooksTo } from '../support/stage.js';

const newConnection = quickConnections();

describe('the log about a receiver', () => {
  const stage = new Stage();

  it('has one line when the receiver stops taking events, and one with the counts when it takes them again', async () => {
    const receiver = await stage.receiver({ answer: [503, 503, 503, 200] });
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: webhooksTo(receiver, { sharedSecret: 'signing-token', retryWindow: 20_000 }),
    });
    app.analytics.track({ userId: 'u1', event: 'Retried' });
    await app.analytics.flush();
    const back = await app.log.line(/again/);
    app.analytics.track({ userId: 'u1', event: 'Delivered' });
    await app.analytics.flush();
    await receiver.received(5);
    await app.settled();

    expect(back).toMatch(/^log: http:\/\/127\.0\.0\.1:\d+ .*"webhooks".* again, after \d+ s and 3 failed/);
    expect(app.log.analytics).toEqual([
      expect.stringMatching(/^warn: http:\/\/127\.0\.0\.1:\d+ .* does not take events: status 503/),
      back,
    ]);
  });

  it('names a timeout and its limit', async () => {
    const receiver = await stage.receiver({ answer: [() => undefined, 200] });
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: webhooksTo(receiver, { timeout: 100, retryWindow: 20_000 }),
    });
    app.analytics.track({ userId: 'u1', event: 'Slow' });
    await app.analytics.flush();
    expect(await app.log.line(/does not take/)).toMatch(
      /^error: .* does not take events: TIMEOUT\. It did not answer within 100 ms\./,
    );
    await app.log.line(/again/);
  });

  it('says what to check when nothing listens, once for all failures until the receiver takes events', async () => {
    const port = await freePort();
    const webhooks = { urls: [`http://127.0.0.1:${port}/`], retryWindow: 20_000, allowPrivateNetwork: true };
    const app = await stage.app({ connection: await newConnection(), webhooks });
    app.analytics.track({ userId: 'u1', event: 'Refused' });
    await app.analytics.flush();
    const refused = await app.log.line(/does not take/);
    expect(refused).toMatch(
      /ECONNREFUSED\. .*start the receiver, or check the port of the URL\. .*are retried/,
    );
    await stage.receiver({ answer: [503, 200], port });
    const back = await app.log.line(/again/);
    expect(app.log.analytics).toEqual([refused, back]);
  });

  it('has one more line when messages run out of time that the receiver has not taken', async () => {
    let isBack = false;
    const receiver = await stage.receiver({ answer: () => (isBack ? 200 : 503) });
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: webhooksTo(receiver, { retryWindow: 1_000 }),
    });
    for (const event of ['First', 'Second']) app.analytics.track({ userId: 'u1', event });
    await app.analytics.flush();
    await app.settled();
    isBack = true;
    app.analytics.track({ userId: 'u1', event: 'Delivered' });
    const back = await app.log.line(/again/);

    expect(back).toMatch(/2 messages failed for good/);
    expect(app.log.analytics).toEqual([
      expect.stringMatching(
        /^warn: .* does not take events: status 503\. .*look at its log\. .*or until their retry window ends/,
      ),
      expect.stringMatching(
        /^error: .*"webhooks"\) did not take messages before their retry window ended\. .*replay/,
      ),
      back,
    ]);
  });

  it('has one line when the receiver refuses a message', async () => {
    const receiver = await stage.receiver({ answer: [400] });
    const app = await stage.app({ connection: await newConnection(), webhooks: webhooksTo(receiver) });
    app.analytics.track({ userId: 'u1', event: 'Refused' });
    await app.analytics.flush();
    await app.failedJobs();
    expect(app.log.analytics).toEqual([
      expect.stringMatching(/^warn: .* does not take events: status 400\. .*kept as failed/),
    ]);
  });
});

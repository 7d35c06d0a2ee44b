import { expect, it } from '@jest/globals';
import { describeAnyServer } from '../support/describe-backend.js';
import { Stage, webhooksTo } from '../support/stage.js';

/** Retry window with a first retry after milliseconds, so that any longer wait is due to the receiver. */
const RETRY_WINDOW = 60_000;

describeAnyServer('a receiver that asks for time', (backend) => {
  const stage = new Stage();

  it.each([
    ['in seconds', () => '1'],
    // A date has no fractions, so the wish is between one and two seconds away.
    ['as a date', () => new Date(Date.now() + 2_000).toUTCString()],
  ])('is not asked again before that time is over (%s), and then once', async (_form, retryAfter) => {
    const times: number[] = [];
    const receiver = await stage.receiver({
      answer: (_request, index) => {
        times.push(Date.now());
        return index === 0 ? { status: 503, headers: { 'retry-after': retryAfter() } } : 200;
      },
    });
    const app = await stage.app({
      connection: backend.connection,
      webhooks: webhooksTo(receiver, { retryWindow: RETRY_WINDOW }),
    });
    app.analytics.track({ userId: 'u1', event: 'Asked' });
    await app.analytics.flush();
    await receiver.received(2);
    await app.settled();

    const [first = 0, second = 0] = times;
    expect(second - first).toBeGreaterThanOrEqual(990);
    expect(receiver.requests).toHaveLength(2);
  });

  it('is the only URL asked again if another URL has refused for good', async () => {
    const refusing = await stage.receiver({ answer: [404] });
    const busy = await stage.receiver({ answer: [503, 200] });
    const app = await stage.app({
      connection: backend.connection,
      webhooks: webhooksTo([refusing, busy], { retryWindow: RETRY_WINDOW }),
    });
    app.analytics.track({ userId: 'u1', event: 'Asked' });
    await app.analytics.flush();
    await busy.received(2);
    await app.settled();

    expect([refusing.requests.length, busy.requests.length]).toEqual([1, 2]);
  });
});

import { expect, it } from '@jest/globals';
import { describeAnyServer } from '../support/describe-backend.js';
import { receivedIds } from '../support/message-ids.js';
import { Stage, webhooksTo } from '../support/stage.js';

/** How long the event loop stands still, in milliseconds. */
const STILL = 2_000;

describeAnyServer('an event loop that stands still', (backend) => {
  const stage = new Stage();

  it('makes no duplicates of what is on its way, however short the timeout is', async () => {
    const answers: (() => void)[] = [];
    const receiver = await stage.receiver({
      answer: () => new Promise((resolve) => answers.push(resolve.bind(undefined, 200))),
    });
    const app = await stage.app({
      connection: backend.connection,
      webhooks: webhooksTo(receiver, { timeout: 1_000, retryWindow: 60_000 }),
    });
    const ids = ['a', 'b', 'c'];
    for (const messageId of ids) app.analytics.track({ userId: 'u1', event: 'Once', messageId });
    await app.analytics.flush();
    await receiver.received(3);
    for (const answer of answers) answer();
    const end = performance.now() + STILL;
    while (performance.now() < end);
    await app.settled();
    expect(receivedIds(receiver)).toEqual(ids);
    expect(receiver.requests).toHaveLength(3);
  });
});

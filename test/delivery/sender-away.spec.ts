import { expect, it } from '@jest/globals';
import { DeliveriesService } from '../../src/index.js';
import type { AnalyticsApp, AppOptions } from '../support/analytics-app.js';
import { describeServersOrEmbedded } from '../support/describe-backend.js';
import { messageIds, receivedIds } from '../support/message-ids.js';
import type { Receiver } from '../support/receiver.js';
import { Stage, webhooksTo } from '../support/stage.js';

/** In milliseconds. */
const RETRY_WINDOW = 6_000;
/** So long that the window ended more than an eighth of its length ago when the sender is back, in milliseconds. */
const AWAY = RETRY_WINDOW * 1.25;
/** Failed requests after the sender is back, before the receiver takes any: one attempt at each message is too few. */
const FAILURES = 12;

describeServersOrEmbedded('a sender that was away for longer than the window', (backend) => {
  const stage = new Stage();

  function optionsFor(receiver: Receiver): AppOptions {
    return {
      connection: backend.connection,
      webhooks: webhooksTo(receiver, { retryWindow: RETRY_WINDOW }),
    };
  }

  async function expectDelivered(
    after: AnalyticsApp,
    receiver: Receiver,
    ids: readonly string[],
  ): Promise<void> {
    await after.settled();
    expect(await after.context.get(DeliveriesService).failed()).toEqual([]);
    expect(receivedIds(receiver)).toEqual([...ids].sort());
  }

  it('tries messages that were never tried as if they were new', async () => {
    const { receiver, comeBack } = await hesitantReceiver(stage);
    const producer = await stage.app(optionsFor(receiver));
    await producer.queue.pause();
    const ids = messageIds('waited', 5);
    for (const messageId of ids) producer.analytics.track({ userId: 'u1', event: 'Waited', messageId });
    await producer.analytics.flush();
    await producer.close();
    await pause(AWAY);
    comeBack();
    const after = await stage.app(optionsFor(receiver));
    await after.queue.resume();
    await expectDelivered(after, receiver, ids);
  });

  it('makes more than one attempt at messages that were tried before', async () => {
    const { receiver, comeBack } = await hesitantReceiver(stage);
    const before = await stage.app(optionsFor(receiver));
    const [id = ''] = messageIds('tried', 1);
    before.analytics.track({ userId: 'u1', event: 'Tried', messageId: id });
    await before.analytics.flush();
    await receiver.received(1);
    await before.close();
    await pause(AWAY);
    comeBack();
    await expectDelivered(await stage.app(optionsFor(receiver)), receiver, [id]);
  });

  it('makes more than one attempt at messages that were held back from a URL that was down', async () => {
    const { receiver, comeBack } = await hesitantReceiver(stage);
    const before = await stage.app(optionsFor(receiver));
    const ids = messageIds('held', 60);
    for (const messageId of ids) before.analytics.track({ userId: 'u1', event: 'Held', messageId });
    await before.analytics.flush();
    await receiver.received(5);
    await before.close();
    await pause(AWAY);
    comeBack();
    await expectDelivered(await stage.app(optionsFor(receiver)), receiver, ids);
  });
});

/** Starts a receiver that takes nothing until the sender is back, and not at once then. */
async function hesitantReceiver(stage: Stage): Promise<{ receiver: Receiver; comeBack: () => void }> {
  let requests = 0;
  let isBack = false;
  const receiver = await stage.receiver({
    answer: () => (isBack && ++requests > FAILURES ? 200 : 503),
  });
  return {
    receiver,
    comeBack: () => {
      isBack = true;
    },
  };
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

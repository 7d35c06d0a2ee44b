import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { DeliveryResult } from '../../src/destinations/destination.js';
import type { UrlOutcome } from '../../src/queue/batch-job.js';
import { WebhookClient } from '../../src/webhooks/http/webhook-client.js';
import type { WebhooksDestination } from '../../src/webhooks/webhooks-destination.js';
import { deliverOne } from '../support/deliver-one.js';
import type { Receiver } from '../support/receiver.js';
import { Stage } from '../support/stage.js';
import { webhooksDestination } from '../support/webhooks-destination.js';

const START = 1_795_000_000_000;
const SECOND = 1_000;
/** Failures in a row after which a URL is down. */
const DOWN = 5;

describe('the last attempt of a message', () => {
  const stage = new Stage();
  let client: WebhookClient;
  let receiver: Receiver;
  let to: WebhooksDestination;
  let now: number;

  beforeEach(async () => {
    now = START;
    jest.spyOn(Date, 'now').mockImplementation(() => now);
    client = new WebhookClient({ connections: 1, allowPrivateNetwork: true });
    receiver = await stage.receiver({ answer: [503] });
    to = webhooksDestination(client, [receiver.url()]);
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await client.close();
  });

  const messageOf = (outcomes: UrlOutcome[] = []): { id: string; body: string; outcomes: UrlOutcome[] } => ({
    id: 'm-1',
    body: '{}',
    outcomes,
  });

  /** Tries this many other messages now, which fail. */
  async function others(count: number): Promise<void> {
    for (let n = 0; n < count; n++) await deliverOne(to, messageOf());
  }

  /** Tries the message when its window is over. */
  function tryLast(outcomes: UrlOutcome[] = [], through = to): Promise<DeliveryResult | undefined> {
    const terms = { isLast: true, firstAttemptAt: START, signal: new AbortController().signal };
    return new Promise((resolve) => {
      through.deliver([messageOf(outcomes)], terms, ([result]) => {
        resolve(result);
      });
    });
  }

  it('is replaced by a later request of another message that showed that the URL is down', async () => {
    const own = await deliverOne(to, messageOf());
    now += SECOND;
    await others(DOWN - 1);
    now += 58 * SECOND;
    const result = await tryLast(own?.outcomes);
    expect(receiver.requests).toHaveLength(DOWN);
    expect(result).toMatchObject({
      class: 'retry',
      outcomes: [{ class: 'retry', status: 503, attempt: 2, at: START + SECOND }],
    });
    expect(to.lastResult(messageOf(own?.outcomes), START, now)).toEqual(result);
  });

  it('is made if such a request is more than a minute old', async () => {
    const own = await deliverOne(to, messageOf());
    now += SECOND;
    await others(DOWN - 1);
    now += 61 * SECOND;
    expect(to.lastResult(messageOf(own?.outcomes), START, now)).toBeUndefined();
    await tryLast(own?.outcomes);
    expect(receiver.requests).toHaveLength(DOWN + 1);
  });

  it('is made if the other requests came before its own, or before it was put off', async () => {
    await others(DOWN);
    expect(to.lastResult(messageOf(), START, now)).toBeUndefined();
    now += SECOND;
    const own = await tryLast();
    expect(receiver.requests).toHaveLength(DOWN + 1);
    await tryLast(own?.outcomes);
    expect(receiver.requests).toHaveLength(DOWN + 2);
  });

  it('is made if the URL is not known to be down', async () => {
    const own = await deliverOne(to, messageOf());
    now += SECOND;
    await others(DOWN - 2);
    await tryLast(own?.outcomes);
    expect(receiver.requests).toHaveLength(DOWN);
  });

  it('is made at the other URL, and settles the message if that URL takes it', async () => {
    const good = await stage.receiver({ answer: [503, 503, 503, 503, 200] });
    const both = webhooksDestination(client, [receiver.url(), good.url()]);
    const own = await deliverOne(both, messageOf());
    now += SECOND;
    for (let n = 1; n < DOWN; n++) await deliverOne(both, messageOf());
    const result = await tryLast(own?.outcomes, both);
    expect(receiver.requests).toHaveLength(DOWN);
    expect(good.requests).toHaveLength(DOWN + 1);
    expect(result).toMatchObject({
      class: 'delivered',
      outcomes: [
        { status: 503, attempt: 2 },
        { status: 200, attempt: 2 },
      ],
    });
  });
});

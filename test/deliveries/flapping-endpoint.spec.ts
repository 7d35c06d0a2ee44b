import { describe, expect, it } from '@jest/globals';
import { DeliveriesService, type EndpointEvent } from '../../src/index.js';
import type { AnalyticsApp } from '../support/analytics-app.js';
import { quickConnections } from '../support/quick-connections.js';
import { Stage, webhooksTo } from '../support/stage.js';

const newConnection = quickConnections();

const MESSAGES = 3_000;
/** The first retry comes after milliseconds. */
const RETRY_WINDOW = 120_000;

describe('a URL that fails now and then', () => {
  const stage = new Stage();

  /** Starts an application whose receiver answers each request according to its index. */
  async function appWith(answer: (index: number) => number): Promise<[AnalyticsApp, EndpointEvent[]]> {
    // One answer after the other, so that receiver and sender see the answers in the same order.
    let last: Promise<unknown> = Promise.resolve();
    const receiver = await stage.receiver({
      answer: async (_request, index) => {
        const turn = last.then(() => new Promise((resolve) => setTimeout(resolve, 2)));
        last = turn;
        await turn;
        return answer(index);
      },
    });
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: webhooksTo(receiver, { retryWindow: RETRY_WINDOW }),
    });
    const events: EndpointEvent[] = [];
    app.context.get(DeliveriesService).endpoints$.subscribe((event) => events.push(event));
    return [app, events];
  }

  async function deliver(app: AnalyticsApp, count: number): Promise<void> {
    for (let n = 0; n < count; n++) app.analytics.track({ userId: 'u1', event: `Event ${n}` });
    await app.analytics.flush();
    await app.settled();
  }

  it('has at most five lines a minute in the log', async () => {
    const receiver = await stage.receiver({ answer: (_request, index) => (index % 3 === 0 ? 503 : 200) });
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: webhooksTo(receiver, { retryWindow: RETRY_WINDOW }),
    });
    const events: EndpointEvent[] = [];
    app.context.get(DeliveriesService).endpoints$.subscribe((event) => events.push(event));
    const begun = performance.now();
    await deliver(app, MESSAGES);
    await app.close();

    expect(receiver.requests.length).toBeGreaterThan(MESSAGES);
    const minutes = Math.ceil((performance.now() - begun) / 60_000);
    expect(app.log.analytics.length).toBeLessThanOrEqual(5 * minutes);
    expect(app.log.analytics).not.toEqual([]);
    expect(events).toEqual([]);
  });

  it('is not down when it answers 503, 200, 503, 200, …', async () => {
    const [app, events] = await appWith((index) => (index % 2 === 0 ? 503 : 200));
    await deliver(app, 100);
    expect(events).toEqual([]);
  });

  it('is not down after four failures in a row, however often they come', async () => {
    const [app, events] = await appWith((index) => (index < 100 && index % 5 < 4 ? 503 : 200));
    await deliver(app, 40);
    expect(events).toEqual([]);
  });

  it('is down with the fifth failure in a row and up with the next success, whatever batches they belong to', async () => {
    const answers = [503, 503, 503, 200, 503, 503, 503, 200, 503, 503, 503, 503, 503, 503];
    const [app, events] = await appWith((index) => answers[index] ?? 200);
    await deliver(app, 40);
    expect(events).toMatchObject([
      { type: 'down', failures: 5, failedMessages: 0, status: 503 },
      { type: 'up', failures: 6, failedMessages: 0, status: 200 },
    ]);
  });
});

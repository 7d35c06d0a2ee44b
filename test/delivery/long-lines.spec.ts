import { expect, it } from '@jest/globals';
import { AnalyticsHealthIndicator, DeliveriesService } from '../../src/index.js';
import type { AnalyticsApp, AppOptions } from '../support/analytics-app.js';
import { describeServersOrEmbedded } from '../support/describe-backend.js';
import type { Receiver } from '../support/receiver.js';
import { destinationsBySource, Stage } from '../support/stage.js';
import { until } from '../support/until.js';

/** Waiting messages, in jobs of 200. */
const WAITING = 20_000;
const JOBS = WAITING / 200;
/** Enough messages to be counted over several pages of jobs. */
const COUNTED = 4_000;

describeServersOrEmbedded('a long line of messages for one destination', (backend) => {
  const stage = new Stage();

  function optionsFor(busy: Receiver, idle: Receiver): AppOptions {
    return {
      connection: backend.connection,
      shutdownTimeout: 1_000,
      // 32 jobs in hand.
      concurrency: 1,
      ...destinationsBySource({ busy: busy.url(), idle: idle.url() }, { timeout: 60_000 }),
    };
  }

  /** Starts an application whose queue holds the waiting messages and delivers nothing. */
  async function standing(waiting: number, busy: Receiver, idle: Receiver): Promise<AnalyticsApp> {
    const app = await stage.app(optionsFor(busy, idle));
    await app.queue.pause();
    const { analytics } = app;
    for (let n = 0; n < waiting; n++) analytics.source('busy').track({ userId: 'u1', event: 'Waited' });
    await analytics.flush();
    return app;
  }

  const untaken = async ({ queue }: AnalyticsApp): Promise<number> => {
    const { waiting = 0, prioritized = 0 } = await queue.getJobCounts('waiting', 'prioritized');
    return waiting + prioritized;
  };

  it('is not sorted through before a starting process sends messages for other destinations', async () => {
    const busy = await stage.receiver({ answer: () => () => undefined });
    const idle = await stage.receiver();
    const before = await standing(WAITING, busy, idle);
    before.analytics.source('idle').track({ userId: 'u1', event: 'Fresh' });
    await before.analytics.flush();
    await before.close();
    const app = await stage.app(optionsFor(busy, idle));
    await app.queue.resume();
    await idle.received(1);
    expect(await untaken(app)).toBeGreaterThan(JOBS / 4);
  });

  it('is counted as waiting, and has an age', async () => {
    const app = await standing(COUNTED, await stage.receiver(), await stage.receiver());
    expect((await app.context.get(DeliveriesService).counts()).waiting).toBe(COUNTED);
    await until(async () => {
      const indicator = app.context.get(AnalyticsHealthIndicator);
      const { analytics } = await indicator.isHealthy('analytics', { timeout: 30_000 });
      return (analytics.oldest ?? 0) > 0 ? true : undefined;
    });
  });
});

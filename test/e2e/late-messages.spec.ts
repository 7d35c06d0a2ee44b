import { request } from 'node:http';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Inject, Injectable, Module } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { AnalyticsModule, AnalyticsService } from '../../src/index.js';
import { basic, TrackingServer } from '../ingest/http/tracking-server.js';
import { describeServersOrEmbedded, type TestConnection } from '../support/describe-backend.js';
import { messageIds, queuedIds } from '../support/message-ids.js';
import { lookIntoQueue } from '../support/open-queue.js';
import { SlowProxy } from '../support/slow-proxy.js';
import { Stage, webhooksTo } from '../support/stage.js';

const SHUTDOWN_TIMEOUT = 4_000;
/** More than half of the time is over: 5.5 of 10 seconds. */
const LATE = 2_200;
const ROUND_TRIP = 30;
/** Long enough for a busy machine to track the last messages before the first are answered. */
const LONG_ROUND_TRIP = 100;
const IDS = messageIds('late', 50);

/** Part of an application that still works when the shutdown has begun, as a request in flight does. */
@Injectable()
class LateWork implements BeforeApplicationShutdown {
  constructor(@Inject(AnalyticsService) private readonly analytics: AnalyticsService) {}

  async beforeApplicationShutdown(): Promise<void> {
    await sleep(LATE);
    for (const [n, messageId] of IDS.entries()) {
      this.analytics.track({ userId: 'u1', event: 'Late', messageId });
      // The first are on their way to the queue when the last are tracked.
      if (n % 5 === 0) await new Promise(setImmediate);
    }
  }
}

@Module({ providers: [LateWork] })
class LateModule {}

describeServersOrEmbedded('a shutdown', (backend) => {
  const stage = new Stage();

  /** The queue, which is far away where it is on a server. */
  async function farConnection(roundTrip: number): Promise<TestConnection> {
    const { connection } = backend;
    if (typeof connection !== 'string') return connection;
    return (await stage.add(SlowProxy.before(connection, roundTrip))).url;
  }

  it('stores what is tracked when more than half of its time is over, and claims no loss', async () => {
    const app = await stage.appWith([
      AnalyticsModule.forRoot({
        writeKey: 'wk_test',
        connection: await farConnection(LONG_ROUND_TRIP),
        webhooks: webhooksTo(await stage.receiver({ answer: [503] })),
        shutdownTimeout: SHUTDOWN_TIMEOUT,
      }),
      LateModule,
    ]);
    await app.close();
    expect(await lookIntoQueue(backend.connection, queuedIds)).toEqual([...IDS].sort());
    expect(app.log.analytics.filter((line) => line.includes('lost'))).toEqual([]);
  });

  it('answers 200 to a request to the tracking API that is whole when more than half of its time is over', async () => {
    const api = await TrackingServer.start({
      platform: 'Express',
      analytics: {
        writeKey: 'wk_web',
        connection: await farConnection(ROUND_TRIP),
        webhooks: webhooksTo(await stage.receiver({ answer: [503] })),
        shutdownTimeout: SHUTDOWN_TIMEOUT,
      },
    });
    const body = JSON.stringify({
      batch: IDS.map((messageId) => ({ type: 'track', userId: 'u1', event: 'Late', messageId })),
    });
    const posted = request(new URL('/v1/batch', api.url), {
      method: 'POST',
      headers: { ...basic('wk_web'), 'content-length': Buffer.byteLength(body) },
    });
    posted.write(body.slice(0, 10));
    await once(api.app.getHttpServer(), 'request');
    const closed = api.close();
    await sleep(LATE);
    posted.end(body.slice(10));
    const [response] = (await once(posted, 'response')) as [{ statusCode: number; resume(): void }];
    response.resume();
    await closed;
    expect(response.statusCode).toBe(200);
    expect(await lookIntoQueue(backend.connection, queuedIds)).toEqual([...IDS].sort());
    expect(api.log.errors).toEqual([]);
  });
});

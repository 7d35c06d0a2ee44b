import { request } from 'node:http';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Module,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { AnalyticsModule, AnalyticsService, type FlushResult } from '../../src/index.js';
import { basic, TrackingServer } from '../ingest/http/tracking-server.js';
import { describeServersOrEmbedded, type TestConnection } from '../support/describe-backend.js';
import { messageIds, queuedIds } from '../support/message-ids.js';
import { lookIntoQueue } from '../support/open-queue.js';
import { SlowProxy } from '../support/slow-proxy.js';
import { Stage, webhooksTo } from '../support/stage.js';

const SHUTDOWN_TIMEOUT = 4_000;
/** More than half of the shutdown timeout, in milliseconds; it corresponds to 5.5 of 10 seconds. */
const LATE = 2_200;
const SHORT_TIMEOUT = 2_000;
const ROUND_TRIP = 30;
/** Long enough for a busy machine to track the last messages before the first are answered. */
const LONG_ROUND_TRIP = 100;
const IDS = messageIds('late', 50);
const FIRST = 'first';

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

/** Part of an application that still works when the whole shutdown timeout is over. */
@Injectable()
class LastWork implements OnApplicationShutdown {
  flushed: FlushResult | undefined;

  constructor(@Inject(AnalyticsService) private readonly analytics: AnalyticsService) {}

  async onApplicationShutdown(): Promise<void> {
    await sleep(SHORT_TIMEOUT);
    this.analytics.track({ userId: 'u1', event: 'Late', messageId: 'flushed' });
    this.flushed = await this.analytics.flush();
    this.analytics.track({ userId: 'u1', event: 'Late', messageId: 'left' });
  }
}

@Module({ providers: [LastWork] })
class LastModule {}

describeServersOrEmbedded('a shutdown', (backend) => {
  const stage = new Stage();

  /** Resolves to the connection of the queue. If the queue is on a server, its connection is slow. */
  async function farConnection(roundTrip: number): Promise<TestConnection> {
    const { connection } = backend;
    if (typeof connection !== 'string') return connection;
    return (await stage.add(SlowProxy.before(connection, roundTrip))).url;
  }

  it('stores messages that are tracked after more than half of its timeout, and reports no loss', async () => {
    const app = await stage.appWith([
      AnalyticsModule.forRoot({
        writeKey: 'wk_test',
        connection: await farConnection(LONG_ROUND_TRIP),
        webhooks: webhooksTo(await stage.receiver({ answer: [503] })),
        shutdownTimeout: SHUTDOWN_TIMEOUT,
      }),
      LateModule,
    ]);
    // On a slow connection, tables are still being created after the start.
    app.analytics.track({ userId: 'u1', event: 'First', messageId: FIRST });
    await app.analytics.flush();
    await app.close();
    expect(await lookIntoQueue(backend.connection, queuedIds)).toEqual([FIRST, ...IDS].sort());
    expect(app.log.analytics.filter((line) => line.includes('lost'))).toEqual([]);
  });

  it('stores messages that are tracked after its whole timeout, whether or not they are flushed', async () => {
    const analytics = AnalyticsModule.forRoot({
      writeKey: 'wk_test',
      connection: backend.connection,
      webhooks: webhooksTo(await stage.receiver({ answer: [503] })),
      shutdownTimeout: SHORT_TIMEOUT,
    });
    const app = await stage.appWith([{ module: LastModule, imports: [analytics] }]);
    const work = app.context.get(LastWork);
    await app.close();
    expect(work.flushed).toEqual({ queued: 1, refused: 0, pending: 0 });
    expect(await lookIntoQueue(backend.connection, queuedIds)).toEqual(['flushed', 'left']);
    expect(app.log.analytics.filter((line) => line.includes('lost'))).toEqual([]);
  });

  it('answers 200 to a request to the tracking API that is complete only after more than half of its timeout', async () => {
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

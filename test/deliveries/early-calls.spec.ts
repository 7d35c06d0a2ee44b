import { expect, it } from '@jest/globals';
import { Injectable, Module } from '@nestjs/common';
import { AnalyticsModule, AnalyticsService, type CustomDestination } from '../../src/index.js';
import { moduleOptions } from '../support/analytics-app.js';
import { describeAnyServer } from '../support/describe-backend.js';
import { queuedMessages } from '../support/queued-messages.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';

/** Retry window with a first retry after a few seconds, so that a job stays put back during a test. */
const SLOW = 4 * 60 * 60 * 1_000;

@Injectable()
class Warehouse implements CustomDestination {
  readonly id = 'warehouse';
  deliver(): void {
    // Takes everything.
  }
}

/** Tracks before Nest has created the custom destination. */
@Injectable()
class Early {
  constructor(readonly analytics: AnalyticsService) {
    analytics.track({ userId: 'u1', event: 'Early', properties: { workspace: 'acme' } });
  }
}

@Module({ providers: [Early] })
class EarlyModule {}

describeAnyServer('a message that is tracked before the custom destinations are known', (backend) => {
  const stage = new Stage();

  it('is removed by a deletion of its user in the tenant that `destinations.tenant` returns for it', async () => {
    const receiver = await stage.receiver({ answer: [503] });
    const analytics = AnalyticsModule.forRoot(
      moduleOptions({
        connection: backend.connection,
        flushAt: 1,
        webhooks: webhooksTo(receiver, { retryWindow: SLOW }),
        customDestinations: [Warehouse],
        destinations: {
          tenant: (message) =>
            message.type === 'track' ? (message.properties.workspace as string) : undefined,
          encryptionKey: false,
        },
      }),
    );
    const app = await stage.appWith([analytics, EarlyModule]);
    /** Whether the queue holds the message. */
    const isKept = async (): Promise<boolean> => {
      const jobs = await app.queue.getJobs(['delayed', 'waiting', 'prioritized', 'active', 'failed']);
      return queuedMessages(...jobs).some(({ body }) => body.includes('"Early"'));
    };
    await receiver.received(1);
    await until(async () => ((await app.queue.getDelayedCount()) === 1 ? true : undefined));
    expect(await isKept()).toBe(true);
    app.analytics.tenant('acme').delete({ userId: 'u1' });
    await until(async () => ((await isKept()) ? undefined : true));
  });
});

import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import {
  type AnalyticsModuleOptions,
  AnalyticsService,
  AudiencesService,
  DeliveriesService,
  getAnalyticsToken,
  Track,
} from '../../../src/index.js';
import { type DecoratedApp, DecoratedApps } from './support/decorated-app.js';

const apps = DecoratedApps.forThisFile();

@Injectable()
class Orders {
  constructor(private readonly analytics: AnalyticsService) {}

  @Track('Order Completed', { userId: 'u1' })
  complete(): string {
    this.analytics.track({ userId: 'u1', event: 'Order Counted' });
    return 'done';
  }
}

/** Starts an application with a mock as is usual in Nest: it has only the methods that the test needs. */
async function start(
  analytics: Partial<AnalyticsModuleOptions> = {},
): Promise<{ app: DecoratedApp; mocked: unknown[] }> {
  const mocked: unknown[] = [];
  const mock = { track: (fields: object) => mocked.push(fields) };
  const app = await apps.start({
    providers: [Orders],
    trackingApi: true,
    analytics,
    override: (builder) => builder.overrideProvider(AnalyticsService).useValue(mock),
  });
  return { app, mocked };
}

describe('an application in which a test replaces `AnalyticsService`', () => {
  it('starts, records, serves and closes without calling a method that the mock lacks', async () => {
    const { app } = await start({ audiences: { source: 'default' } });
    expect(app.get(Orders).complete()).toBe('done');
    await app.request('/v1/track', {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from('wk_test:').toString('base64')}` },
      body: JSON.stringify({ userId: 'u1', event: 'Sent In' }),
    });
    await app.get(AudiencesService).sync(`Mocked ${Date.now()}`, ['u1']);
    await app.get(DeliveriesService).counts();
    expect(app.nest.get<AnalyticsService>(getAnalyticsToken('default')).usage().received).toBeGreaterThan(0);
    await app.nest.close();
    expect(app.logs.warnings.join()).not.toContain('not a function');
    expect(app.logs.errors).toEqual([]);
  });

  it('injects the mock, while its decorators go on recording', async () => {
    const { app, mocked } = await start();
    app.get(Orders).complete();
    expect(mocked).toEqual([{ userId: 'u1', event: 'Order Counted' }]);
    expect(app.events).toEqual(['Order Completed']);
  });

  it('sends no events of its decorators with `enabled: false`, but still shows them to `beforeSend`', async () => {
    const { app } = await start({ enabled: false, webhooks: { urls: ['https://hooks.example.com'] } });
    app.get(Orders).complete();
    expect(app.events).toEqual(['Order Completed']);
    await expect(app.get(DeliveriesService).counts()).resolves.toMatchObject({
      waiting: 0,
      delayed: 0,
      failed: 0,
    });
  });
});

import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  AnalyticsModule,
  AnalyticsService,
  InjectAnalytics,
  InvalidMessageError,
  InvalidOptionsError,
  UnknownSourceError,
} from '../../../src/index.js';
import type { AppOptions } from '../../support/analytics-app.js';
import type { TestConnection } from '../../support/describe-backend.js';
import { quickConnections } from '../../support/quick-connections.js';
import { eventsIn } from '../../support/received-message.js';
import type { Receiver } from '../../support/receiver.js';
import { Stage, webhooksTo } from '../../support/stage.js';

const WEB = { name: 'web', writeKey: 'wk_web' };
const MOBILE = { name: 'mobile', writeKey: 'wk_mobile' };
const TRACK = { userId: 'u1', event: 'Opened' };

const newConnection = quickConnections();
const stage = new Stage();
let receiver: Receiver;
let connection: TestConnection;

beforeEach(async () => {
  receiver = await stage.receiver();
  connection = await newConnection();
});

function appOf(options: AppOptions): ReturnType<Stage['app']> {
  return stage.app({ writeKey: undefined, connection, ...options });
}

/** Returns the received bodies as parsed JSON. */
function bodies(): unknown[] {
  return receiver.requests.map(({ body }) => JSON.parse(body.toString()) as unknown);
}

describe('sources', () => {
  it('are connected to the destinations that name them, and the service speaks for the first', async () => {
    const other = await stage.receiver();
    const app = await appOf({
      sources: [WEB, MOBILE],
      webhooks: [
        webhooksTo(receiver, { id: 'all' }),
        webhooksTo(other, { id: 'mobile', sources: ['mobile'] }),
      ],
    });
    app.analytics.track({ userId: 'u1', event: 'of the first' });
    app.analytics.source('mobile').track({ userId: 'u1', event: 'of mobile' });
    await app.analytics.flush();
    await app.settled();
    expect(eventsIn(receiver.requests)).toEqual(['of mobile', 'of the first']);
    expect(eventsIn(other.requests)).toEqual(['of mobile']);
    expect(() => app.analytics.source('tv')).toThrow(UnknownSourceError);
  });

  it.each<[string, { sourceNames?: undefined }]>([
    ['with forRoot', {}],
    ['with forRoot where `sourceNames` is undefined', { sourceNames: undefined }],
  ])('are injected by their names %s', async (_case, extras) => {
    @Injectable()
    class Shop {
      constructor(
        @InjectAnalytics() readonly first: AnalyticsService,
        @InjectAnalytics('mobile') readonly mobile: AnalyticsService,
      ) {}
    }
    const options = { sources: [WEB, MOBILE], webhooks: webhooksTo(receiver, { sources: ['mobile'] }) };
    const shop = await startShop(Shop, AnalyticsModule.forRoot({ ...options, ...extras, connection }));
    shop.first.track({ userId: 'u1', event: 'of the first' });
    shop.mobile.track({ userId: 'u1', event: 'of mobile' });
    await shop.first.flush();
    expect(eventsIn(await receiver.received(1))).toEqual(['of mobile']);
  });

  it('are injected by the names in `sourceNames` with forRootAsync', async () => {
    @Injectable()
    class Shop {
      constructor(@InjectAnalytics('mobile') readonly mobile: AnalyticsService) {}
    }
    const shop = await startShop(
      Shop,
      AnalyticsModule.forRootAsync({
        sourceNames: ['web', 'mobile'],
        useFactory: () => ({ sources: [WEB, MOBILE], webhooks: webhooksTo(receiver), connection }),
      }),
    );
    shop.mobile.track(TRACK);
    await shop.mobile.flush();
    expect(shop.mobile.usage()).toEqual({ received: 1, filtered: 0 });
    await receiver.received(1);
  });

  it('fail at start if `sourceNames` has a name that no source has', async () => {
    const module = AnalyticsModule.forRootAsync({
      sourceNames: ['tv'],
      useFactory: () => ({ sources: [WEB], connection: 'redis://127.0.0.1:1' }),
    });
    const starting = NestFactory.createApplicationContext(module, { logger: false, abortOnError: false });
    await expect(starting).rejects.toThrow(InvalidOptionsError);
    await expect(starting).rejects.toThrow(
      '`sourceNames`: expected an array of names of sources (web), got "tv"',
    );
  });

  async function startShop<T>(
    shop: new (...args: never[]) => T,
    analytics: ReturnType<typeof AnalyticsModule.forRoot>,
  ): Promise<T> {
    @Module({ imports: [analytics], providers: [shop] })
    class ShopModule {}
    const app = await stage.add(
      NestFactory.createApplicationContext(ShopModule, { logger: false, abortOnError: false }),
    );
    return app.get<T>(shop);
  }
});

describe('the schema of a source', () => {
  const schema = {
    'Debug Event': false,
    'Order Completed': { Webhooks: false },
    'Order Refunded': { Webhooks: true },
    'Order Seen': { Other: false },
  };

  it('withholds `track` calls from destinations by the name of their event, and counts them as received', async () => {
    const app = await appOf({ sources: [{ ...WEB, schema }, MOBILE], webhooks: webhooksTo(receiver) });
    for (const event of [...Object.keys(schema), 'debug event', 'constructor']) {
      app.analytics.track({ userId: 'u1', event });
    }
    app.analytics.page({ userId: 'u1', name: 'Debug Event' });
    app.analytics.source('mobile').track({ userId: 'u1', event: 'Debug Event' });
    expect(await app.analytics.flush()).toEqual({ queued: 6, refused: 0, pending: 0 });
    const events = eventsIn(await receiver.received(6));
    expect(events).toEqual(['', 'Debug Event', 'Order Refunded', 'Order Seen', 'constructor', 'debug event']);
    expect(app.analytics.usage()).toEqual({ received: 7, filtered: 2 });
    expect(app.analytics.source('mobile').usage()).toEqual({ received: 1, filtered: 0 });
  });

  it('never overrides an exclusion in `integrations`, and does not count such a call as filtered', async () => {
    const app = await appOf({ sources: [{ ...WEB, schema }], webhooks: webhooksTo(receiver) });
    const integrations = { All: false };
    app.analytics.track({ userId: 'u1', event: 'Order Refunded', integrations });
    app.analytics.track({ userId: 'u1', event: 'Debug Event', integrations });
    expect(await app.analytics.flush()).toEqual({ queued: 0, refused: 0, pending: 0 });
    expect(app.analytics.usage()).toEqual({ received: 2, filtered: 0 });
  });
});

describe('a deletion', () => {
  it('is sent once for each source that has an enabled destination, each time with an id of its own', async () => {
    const app = await appOf({
      sources: [WEB, MOBILE, { name: 'alone', writeKey: 'wk_alone' }],
      webhooks: [
        webhooksTo(receiver, { id: 'on', sources: ['web', 'mobile'] }),
        webhooksTo(receiver, { id: 'off', sources: ['alone'], enabled: false }),
      ],
    });
    const id = app.analytics.delete({ userId: 'u1', timestamp: '2012-12-02T00:30:08.276Z' });
    await app.analytics.flush();
    await receiver.received(2);
    await app.settled();
    const body = { type: 'delete', userId: 'u1', timestamp: '2012-12-02T00:30:08.276Z' };
    expect(bodies()).toEqual([body, body]);
    const ids = receiver.requests.map(({ headers }) => headers['webhook-id']);
    expect(new Set(ids).size).toBe(2);
    expect(ids).toContain(id);
  });

  it('concerns the given sources, or only the source on which it was called', async () => {
    const app = await appOf({
      sources: [WEB, MOBILE, { name: 'tv', writeKey: 'wk_tv' }],
      webhooks: webhooksTo(receiver),
    });
    app.analytics.delete({ userId: 'u1', sources: ['mobile', 'tv', 'mobile'] });
    expect(await app.analytics.flush()).toMatchObject({ queued: 2 });
    app.analytics.source('tv').delete({ userId: 'u2' });
    expect(await app.analytics.flush()).toMatchObject({ queued: 1 });
    expect(['web', 'mobile', 'tv'].map((name) => app.analytics.source(name).usage().received)).toEqual([
      0, 1, 2,
    ]);

    expect(() => app.analytics.delete({ userId: 'u1', sources: ['radio'] })).toThrow(UnknownSourceError);
    expect(() => app.analytics.delete({ userId: 'u1', sources: [] })).toThrow(InvalidMessageError);
    expect(() => app.analytics.source('tv').delete({ userId: 'u1', sources: ['web'] })).toThrow(
      UnknownSourceError,
    );
    expect(await app.analytics.flush()).toMatchObject({ queued: 0 });
    await receiver.received(3);
  });
});

import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Injectable, type ModuleMetadata } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { z } from 'zod';
import {
  AnalyticsService,
  AudiencesService,
  type CustomDestination,
  DeliveriesService,
  defineEvents,
  Identify,
  InjectAnalytics,
  Track,
} from '../../src/index.js';
import {
  AnalyticsTestingModule,
  type AnalyticsTestingOptions,
  RecordedAnalytics,
} from '../../src/testing/index.js';
import { LogLines } from '../support/log-lines.js';

const modules: TestingModule[] = [];
afterEach(async () => {
  jest.useRealTimers();
  for (const module of modules.splice(0)) await module.close();
});

async function start(
  options?: AnalyticsTestingOptions,
  providers: NonNullable<ModuleMetadata['providers']> = [],
): Promise<{ module: TestingModule; analytics: AnalyticsService; recorded: RecordedAnalytics }> {
  const imports = [AnalyticsTestingModule.forRoot(options)];
  const module = await Test.createTestingModule({ imports, providers }).setLogger(new LogLines()).compile();
  await module.init();
  modules.push(module);
  return { module, analytics: module.get(AnalyticsService), recorded: module.get(RecordedAnalytics) };
}

@Injectable()
class Orders {
  constructor(private readonly analytics: AnalyticsService) {}

  complete(total: number): void {
    this.analytics.track({ userId: 'u1', event: 'Order Completed', properties: { total } });
  }

  @Track('Order Cancelled', { userId: ({ args: [userId] }) => userId })
  @Identify({ userId: ({ args: [userId] }) => userId, traits: { hasCancelled: true } })
  cancel(userId: string): string {
    return userId;
  }
}

class Warehouse implements CustomDestination {
  readonly id = 'warehouse';

  deliver(): void {
    throw new Error('Nothing is delivered.');
  }
}

@Injectable()
class Push {
  constructor(@InjectAnalytics('mobile') readonly mobile: AnalyticsService) {}
}

describe('the testing module', () => {
  it('records a call as soon as it returns, as it would be sent', async () => {
    const { analytics, recorded } = await start({ context: { app: { name: 'shop' } } });
    const properties = { at: new Date(0), tags: new Set(['a']), total: 9, none: undefined };
    const messageId = analytics.track({ userId: 'u1', event: 'Order Completed', properties });
    properties.total = 10;
    expect(recorded.messages).toEqual([
      {
        type: 'track',
        messageId,
        userId: 'u1',
        event: 'Order Completed',
        properties: { at: '1970-01-01T00:00:00.000Z', tags: ['a'], total: 9 },
        context: { library: expect.anything(), app: { name: 'shop' } },
        integrations: {},
        timestamp: expect.stringMatching(/Z$/),
        source: 'default',
      },
    ]);
  });

  it('records the calls of providers and of their decorators', async () => {
    const { module, recorded } = await start({}, [Orders]);
    module.get(Orders).complete(9);
    module.get(Orders).cancel('u2');
    expect(recorded.tracked('Order Completed').map(({ properties }) => properties)).toEqual([{ total: 9 }]);
    expect(recorded.tracked('Order Cancelled').map(({ userId }) => userId)).toEqual(['u2']);
    expect(recorded.identified('u2').map(({ traits }) => traits)).toEqual([{ hasCancelled: true }]);
    recorded.clear();
    expect(recorded.messages).toEqual([]);
  });

  it('injects sources by their names, and records the source of each message', async () => {
    const sources = ['web', 'mobile'].map((name) => ({ name, writeKey: `wk_${name}` }));
    const { module, analytics, recorded } = await start({ sources }, [Push]);
    module.get(Push).mobile.page({ userId: 'u1', name: 'Home' });
    analytics.group({ userId: 'u1', groupId: 'g1' });
    analytics.delete({ userId: 'u1' });
    expect(recorded.messages.map(({ type, source }) => [type, source])).toEqual([
      ['page', 'mobile'],
      ['group', 'web'],
      ['delete', 'web'],
      ['delete', 'mobile'],
    ]);
    expect(module.get(Push).mobile.usage()).toEqual({ received: 2, filtered: 0 });
  });

  it('refuses what the real module refuses', async () => {
    const { analytics, recorded } = await start();
    const wrong: unknown = { userId: 42, event: 'Order Completed' };
    expect(() => analytics.track(wrong as { userId: string; event: string })).toThrow(/userId/);
    const huge = { userId: 'u1', event: 'Huge', properties: { text: 'x'.repeat(40_000) } };
    expect(() => analytics.track(huge)).toThrow(expect.objectContaining({ code: 'MESSAGE_TOO_LARGE' }));
    await expect(start({ flushAt: 0 })).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    expect(recorded.messages).toEqual([]);
  });

  it('refuses a `groupId` in the context that cannot be a tenant, if it says whose event a message is', async () => {
    const call = { userId: 'u1', event: 'Numbered', context: { groupId: 42 } };
    const { analytics, recorded } = await start({ destinations: { encryptionKey: false } });
    expect(() => analytics.track(call)).toThrow(
      expect.objectContaining({ code: 'INVALID_MESSAGE', field: 'context.groupId' }),
    );
    analytics.tenant('acme').track(call);
    expect(recorded.messages.map(({ context }) => context.groupId)).toEqual(['acme']);
    const without = await start();
    without.analytics.track(call);
    expect(without.recorded.messages).toHaveLength(1);
  });

  it('applies schemas, `beforeSend`, the filter of a source and `integrations`', async () => {
    const { analytics, recorded } = await start({
      sources: [{ name: 'web', writeKey: 'wk', schema: { 'Debug Event': false } }],
      events: defineEvents({ 'Order Completed': z.object({ total: z.number() }) }),
      onViolation: 'throw',
      beforeSend: (message) => (message.type === 'screen' ? null : message),
    });
    const track = (event: string, properties: object, integrations = {}): unknown =>
      analytics.track({ userId: 'u1', event, properties, integrations });
    expect(() => track('Order Completed', { total: 'nine' })).toThrow(/total/);
    track('Debug Event', {});
    track('For Nobody', {}, { All: false });
    analytics.screen({ userId: 'u1', name: 'Home' });
    track('Order Completed', { total: 9 });
    expect(recorded.messages.map((message) => message.type === 'track' && message.event)).toEqual([
      'Order Completed',
    ]);
    expect(analytics.usage()).toEqual({ received: 3, filtered: 1 });
  });

  it('records with `enabled: false`, and with destinations that are switched off', async () => {
    const urls = ['https://hooks.example.com/events'];
    const { analytics, recorded } = await start({ enabled: false, webhooks: { urls, enabled: false } });
    analytics.track({ userId: 'u1', event: 'Order Completed' });
    expect(recorded.tracked('Order Completed')).toHaveLength(1);
  });

  const sources = ['web', 'mobile'].map((name) => ({ name, writeKey: `wk_${name}` }));
  const ofTheWeb = { urls: ['https://hooks.example.com/events'], sources: ['web'] };

  it.each<[string, Pick<AnalyticsTestingOptions, 'webhooks' | 'destinations' | 'customDestinations'>]>([
    ['a destination of a tenant', { webhooks: ofTheWeb, destinations: {} }],
    ['a custom destination of a class', { webhooks: ofTheWeb, customDestinations: [Warehouse] }],
    [
      'a destination that is switched off beside others',
      {
        webhooks: [
          { ...ofTheWeb, id: 'web' },
          { ...ofTheWeb, id: 'all', sources: ['mobile'], enabled: false },
        ],
      },
    ],
  ])('records messages that only %s would get', async (_, options) => {
    const { analytics, recorded } = await start({ ...options, sources });
    analytics.source('mobile').tenant('acme').track({ userId: 'u1', event: 'Order Completed' });
    analytics.source('web').track({ userId: 'u1', event: 'Order Completed' });
    expect(recorded.messages.map(({ source }) => source)).toEqual(['mobile', 'web']);
  });

  it('records nothing of a source to which no destination is connected', async () => {
    const { analytics, recorded } = await start({ sources, webhooks: ofTheWeb });
    analytics.source('mobile').track({ userId: 'u1', event: 'Order Completed' });
    expect(recorded.messages).toEqual([]);
  });

  it('records calls in a transaction, and stores nothing', async () => {
    const { analytics, recorded } = await start();
    const statements: string[] = [];
    const executor = { query: (text: string) => Promise.resolve(statements.push(text)) };
    await analytics.within(executor).track({ userId: 'u1', event: 'Order Completed' });
    expect(recorded.tracked('Order Completed')).toHaveLength(1);
    expect(statements).toEqual([]);
    const transaction: unknown = { execute: () => Promise.resolve() };
    expect(() => analytics.within(transaction as typeof executor)).toThrow(
      expect.objectContaining({ code: 'INVALID_EXECUTOR' }),
    );
  });

  it('records the same fields for a call in a transaction as for any other call', async () => {
    const { analytics, recorded } = await start();
    const executor = { query: () => Promise.resolve() };
    const tenant = analytics.tenant('acme');
    const timestamp = new Date();
    const event = { userId: 'u1', event: 'Order Completed', messageId: 'm1', timestamp };
    tenant.track(event);
    await tenant.within(executor).track(event);
    analytics.delete({ userId: 'u1', timestamp });
    await analytics.within(executor).delete({ userId: 'u1', timestamp });
    const [track, inTransaction, deletion, deletionInTransaction] = recorded.messages;
    expect(inTransaction).toEqual(track);
    expect(deletionInTransaction).toEqual({ ...deletion, messageId: expect.any(String) });
  });

  it('answers a flush at once, with the messages that were recorded since the last flush', async () => {
    const { analytics } = await start();
    analytics.track({ userId: 'u1', event: 'A' });
    analytics.track({ userId: 'u1', event: 'B' });
    expect(await analytics.flush()).toEqual({ queued: 2, refused: 0, pending: 0 });
    expect(await analytics.flush()).toEqual({ queued: 0, refused: 0, pending: 0 });
  });

  it('syncs audiences in memory', async () => {
    const { module, recorded } = await start();
    const audiences = module.get(AudiencesService);
    expect(await audiences.sync('Big Spenders', ['u1', 'u2'])).toEqual({
      added: 2,
      removed: 0,
      unchanged: 0,
    });
    await audiences.remove('Big Spenders', 'u1');
    expect(recorded.identified('u1').map(({ traits }) => traits)).toEqual([
      { big_spenders: true },
      { big_spenders: false },
    ]);
  });

  it('lists audiences with the source of their latest calls', async () => {
    const { module } = await start({
      sources: [
        { name: 'web', writeKey: 'wk_1' },
        { name: 'jobs', writeKey: 'wk_2' },
      ],
    });
    const audiences = module.get(AudiencesService);
    await audiences.add('VIP', 'u1', { source: 'web' });
    await audiences.add('VIP', 'u2', { source: 'jobs' });
    expect(await audiences.list()).toMatchObject([{ name: 'VIP', source: 'jobs', earlierSources: ['web'] }]);
  });

  it('has no deliveries, and sends no test event', async () => {
    const { module } = await start({
      webhooks: { urls: ['http://127.0.0.1:9/'], allowPrivateNetwork: true },
    });
    const deliveries = module.get(DeliveriesService);
    expect(await deliveries.counts()).toMatchObject({ waiting: 0, failed: 0 });
    await expect(deliveries.sendTest('webhooks')).rejects.toMatchObject({ code: 'ANALYTICS_CLOSED' });
  });

  it('refuses calls once it is closed', async () => {
    const { module, analytics } = await start();
    await module.close();
    expect(() => analytics.track({ userId: 'u1', event: 'A' })).toThrow(
      expect.objectContaining({ code: 'ANALYTICS_CLOSED' }),
    );
  });

  it('needs no timers, and works while time stands still', async () => {
    jest.useFakeTimers();
    const { module, analytics, recorded } = await start();
    analytics.track({ userId: 'u1', event: 'Order Completed' });
    expect(recorded.tracked('Order Completed')).toHaveLength(1);
    expect(await analytics.flush()).toMatchObject({ queued: 1 });
    expect(jest.getTimerCount()).toBe(0);
    await module.close();
  });
});

describe('waitFor', () => {
  it('says what is missing even in a test with fake timers', async () => {
    const { analytics, recorded } = await start();
    analytics.track({ userId: 'u1', event: 'Order Completed' });
    jest.useFakeTimers();
    await expect(recorded.waitFor('Order Shipped', { timeout: 50 })).rejects.toMatchObject({
      code: 'WAIT_TIMEOUT',
      message: expect.stringContaining('Order Completed'),
    });
  });

  it('resolves to messages that have been recorded, and to later ones', async () => {
    const { module, recorded } = await start({}, [Orders]);
    const later = recorded.waitFor('Order Completed');
    module.get(Orders).complete(9);
    expect(await later).toMatchObject({ properties: { total: 9 } });
    expect(await recorded.waitFor('Order Completed')).toBe(recorded.messages[0]);
    const second = recorded.waitFor(2);
    const matching = recorded.waitFor(
      (message) => message.type === 'track' && message.properties.total === 8,
    );
    module.get(Orders).complete(8);
    expect(await second).toHaveLength(2);
    expect(await matching).toBe(recorded.messages[1]);
  });

  it('says after its timeout what it waited for, and what was recorded', async () => {
    const { module, recorded } = await start({}, [Orders]);
    await expect(recorded.waitFor('Order Cancelled', { timeout: 1 })).rejects.toMatchObject({
      code: 'WAIT_TIMEOUT',
      message: 'Waited 1 ms for "Order Cancelled". What has arrived: nothing.',
    });
    module.get(Orders).complete(9);
    module.get(Orders).cancel('u1');
    await expect(recorded.waitFor(9, { timeout: 1 })).rejects.toThrow(
      'Waited 1 ms for 9 messages. What has arrived: "Order Completed", "Order Cancelled", `identify`.',
    );
  });

  it('rejects with the error of its own function, without an effect on the application', async () => {
    const { analytics, recorded } = await start();
    const waiting = recorded.waitFor(() => {
      throw new RangeError('my mistake');
    });
    analytics.track({ userId: 'u1', event: 'A' });
    await expect(waiting).rejects.toThrow('my mistake');
    expect(recorded.messages).toHaveLength(1);
  });
});

import { beforeEach, expect, it } from '@jest/globals';
import { BullModule } from '@nestjs/bullmq';
import {
  AnalyticsModule,
  AudiencesService,
  DeliveriesService,
  DestinationsService,
  type RecentDelivery,
} from '../../src/index.js';
import type { AnalyticsApp, AppOptions } from '../support/analytics-app.js';
import { describeServers } from '../support/describe-backend.js';
import type { Receiver } from '../support/receiver.js';
import { eventsIn } from '../support/received-message.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';

const EVENTS = 30;

describeServers('two applications on one database', (backend) => {
  const stage = new Stage();
  let shopReceiver: Receiver;
  let billingReceiver: Receiver;

  beforeEach(async () => {
    shopReceiver = await stage.receiver();
    billingReceiver = await stage.receiver();
  });

  /** Both have one destination, with the default id. */
  function start(name: 'shop' | 'billing', options: Partial<AppOptions> = {}): Promise<AnalyticsApp> {
    return stage.app({
      connection: backend.connection,
      writeKey: `wk_${name}`,
      flushAt: 1,
      webhooks: webhooksTo(name === 'shop' ? shopReceiver : billingReceiver),
      ...options,
    });
  }

  async function track(app: AnalyticsApp, name: string): Promise<string[]> {
    const events = Array.from({ length: EVENTS }, (_, n) => `${name} ${String(n).padStart(2, '0')}`);
    for (const event of events) app.analytics.track({ userId: 'u1', event });
    await app.analytics.flush();
    return events;
  }

  it('send only their own events though their destinations have the same id, and log a warning', async () => {
    const options = { unknownJobTimeout: 20_000 };
    const shop = await start('shop', { ...options, worker: false });
    const billing = await start('billing', options);
    const [ofShop, ofBilling] = await Promise.all([track(shop, 'Shop'), track(billing, 'Billing')]);
    await billingReceiver.received(EVENTS);
    expect(await billing.log.line(/`prefix`/)).toMatch(
      /^warn: This process has a destination with the id "webhooks", but not the one that messages were queued/,
    );
    await start('shop', options);
    await shopReceiver.received(EVENTS);
    await shop.settled();
    expect(eventsIn(shopReceiver.requests)).toEqual(ofShop);
    expect(eventsIn(billingReceiver.requests)).toEqual(ofBilling);
    expect(billing.log.analytics.filter((line) => line.includes('`prefix`'))).toHaveLength(1);
  });

  it('leave a retry to the workers of its own application, however long that takes', async () => {
    shopReceiver = await stage.receiver({ answer: [503, 200] });
    // Less than the wait before the first retry.
    const options = { unknownJobTimeout: 3_500 };
    const producer = await start('shop', { worker: false });
    producer.analytics.track({ userId: 'u1', event: 'Retried' });
    await producer.analytics.flush();
    const billing = await start('billing', options);
    await billing.log.line(/`prefix`/);
    const shop = await start('shop', options);
    await shopReceiver.received(1);
    await shop.close();
    // The retry is due some seconds later, when only billing can take it.
    const first = Date.now();
    const second = await until(async () => {
      const [job] = await billing.queue.getJobs(['delayed', 'failed']);
      const progress: unknown = job?.progress;
      if ((await job?.isFailed()) === true) return 'failed';
      const { unknownSince = 0 } = Object(progress) as { unknownSince?: number };
      return unknownSince > first ? 'put back' : undefined;
    });
    expect(second).toBe('put back');
    // When the retry is due again, billing would keep it as failed.
    await billing.close();
    await start('shop');
    await shopReceiver.received(2);
  });

  it('keep messages that wait for the other application as failed, and replay them only where they belong', async () => {
    const shop = await start('shop', { worker: false });
    await track(shop, 'Shop');
    await shop.close();
    const billing = await start('billing', { unknownJobTimeout: 0 });
    await billing.settled();
    const deliveries = billing.context.get(DeliveriesService);
    const failed = await deliveries.failed();
    expect(failed.map(({ error }) => error)).toEqual(Array(EVENTS).fill('OTHER_APPLICATION'));
    expect(await deliveries.replay()).toBe(0);
    await billing.close();
    const again = await start('shop');
    expect(await again.context.get(DeliveriesService).replay()).toBe(EVENTS);
    await shopReceiver.received(EVENTS);
    expect(billingReceiver.requests).toEqual([]);
  });

  it.each(['webhooks', 'endpoint'] as const)(
    'replay messages of the other application if the filter names OTHER_APPLICATION: %s',
    async (kind) => {
      const optionsTo = (receiver: Receiver): Partial<AppOptions> =>
        kind === 'webhooks' ? { webhooks: webhooksTo(receiver) } : { endpoint: receiver.url().slice(0, -1) };
      const common = { connection: backend.connection, flushAt: 1, unknownJobTimeout: 0 };
      const shop = await stage.app({
        ...{ ...common, writeKey: 'wk_shop', worker: false },
        ...optionsTo(shopReceiver),
      });
      shop.analytics.track({ userId: 'u1', event: 'Of the shop' });
      await shop.analytics.flush();
      await shop.close();
      const billing = await stage.app({ ...common, writeKey: 'wk_billing', ...optionsTo(billingReceiver) });
      const [job] = await billing.failedJobs();
      expect(job?.failedReason).toMatch(/^OTHER_APPLICATION: /);
      // For example, the URL of the destination has changed to this one.
      const deliveries = billing.context.get(DeliveriesService);
      expect(await deliveries.replay({ error: 'OTHER_APPLICATION' })).toBe(1);
      await billingReceiver.received(1);
    },
  );

  it.each([
    ['has a new write key', 'shop', 'wk_new'],
    ['has a destination with a new URL', 'billing', 'wk_shop'],
  ] as const)('are not confused with one application that %s', async (_, name, writeKey) => {
    const before = await start('shop', { worker: false });
    await track(before, 'Shop');
    await before.close();
    await start(name, { writeKey, unknownJobTimeout: 0 });
    await (name === 'shop' ? shopReceiver : billingReceiver).received(EVENTS);
  });

  it('share nothing if each has a `prefix`', async () => {
    const options = { destinations: { allowPrivateNetwork: true } };
    const shop = await start('shop', { ...options, prefix: 'shop' });
    const billing = await start('billing', { ...options, prefix: 'billing-2' });
    expect([shop.queue.name, billing.queue.name]).toEqual(['shop-analytics', 'billing-2-analytics']);

    const created = await shop.context
      .get(DestinationsService)
      .create({ tenant: 'acme', urls: [shopReceiver.url('/acme')] });
    const ofBilling = billing.context.get(DestinationsService);
    expect((await ofBilling.list({ tenant: 'acme' })).destinations).toEqual([]);
    await expect(ofBilling.get(created.id)).rejects.toMatchObject({ code: 'DESTINATION_NOT_FOUND' });

    shop.analytics.tenant('acme').track({ userId: 'u1', event: 'Of a tenant' });
    billing.analytics.tenant('acme').track({ userId: 'u1', event: 'Of its namesake' });
    await shopReceiver.received(2);
    await billingReceiver.received(1);
    await Promise.all([shop.settled(), billing.settled()]);
    expect(eventsIn(shopReceiver.requests)).toEqual(['Of a tenant', 'Of a tenant']);
    expect(eventsIn(billingReceiver.requests)).toEqual(['Of its namesake']);
    const recent = (app: AnalyticsApp): Promise<RecentDelivery[]> =>
      until(async () => {
        const found = await app.context.get(DeliveriesService).recent({ destination: 'webhooks' });
        return found.length > 0 ? found : undefined;
      });
    expect((await recent(shop)).map(({ event }) => event)).toEqual(['Of a tenant']);
    expect((await recent(billing)).map(({ event }) => event)).toEqual(['Of its namesake']);

    await shop.context.get(AudiencesService).sync('big_spenders', ['u1', 'u2']);
    expect(await billing.context.get(AudiencesService).sync('big_spenders', ['u3'])).toMatchObject({
      added: 1,
      removed: 0,
    });
  });

  it('replay failed messages with a `prefix`, and keep them no longer', async () => {
    shopReceiver = await stage.receiver({ answer: [404, 200] });
    const shop = await start('shop', { prefix: 'shop' });
    shop.analytics.track({ userId: 'u1', event: 'Refused once' });
    await shop.failedJobs();
    const deliveries = shop.context.get(DeliveriesService);
    expect(await deliveries.replay()).toBe(1);
    await shopReceiver.received(2);
    await shop.settled();
    expect(await deliveries.failed()).toEqual([]);
  });

  if (backend.name === 'Redis') {
    it('are kept apart by the `prefix` of their BullModule, whose connection they use', async () => {
      const { hostname, port, pathname } = new URL(backend.connection);
      const connection = { host: hostname, port: Number(port), db: Number(pathname.slice(1)) };
      const app = await stage.appWith([
        BullModule.forRoot({ connection, prefix: '{Shop}' }),
        AnalyticsModule.forRoot({ writeKey: 'wk_shop', webhooks: webhooksTo(shopReceiver), flushAt: 1 }),
      ]);
      expect(app.queue.name).toBe('shop-analytics');
      app.analytics.track({ userId: 'u1', event: 'Of the shop' });
      await shopReceiver.received(1);
    });

    it.each([
      [
        'long',
        'acme-platform-production-eu-central-1-orders',
        '{acme-platform-production-eu-central-1-orders-billing}',
      ],
      ['without a Latin letter', 'магазин', '商店'],
    ])('are kept apart by a `prefix` of their BullModule that is %s', async (_, prefix, other) => {
      const { hostname, port, pathname } = new URL(backend.connection);
      const connection = { host: hostname, port: Number(port), db: Number(pathname.slice(1)) };
      const startWith = (ofModule: string, receiver: Receiver): Promise<AnalyticsApp> =>
        stage.appWith([
          BullModule.forRoot({ connection, prefix: ofModule }),
          AnalyticsModule.forRoot({ writeKey: 'wk', webhooks: webhooksTo(receiver), unknownJobTimeout: 0 }),
        ]);
      const shop = await startWith(prefix, shopReceiver);
      const billing = await startWith(other, billingReceiver);
      await track(shop, 'Shop');
      await shop.settled();
      const ofBilling = await track(billing, 'Billing');
      await billing.settled();
      expect(eventsIn(billingReceiver.requests)).toEqual(ofBilling);
      expect(shopReceiver.requests).toHaveLength(EVENTS);
    });
  }
});

import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { DeliveriesService, DestinationsService } from '../../src/index.js';
import type { AnalyticsApp, AppOptions } from '../support/analytics-app.js';
import { describeWith } from '../support/describe-backend.js';
import { receivedIds } from '../support/message-ids.js';
import { PostgresServer } from '../support/postgres-server.js';
import type { Receiver } from '../support/receiver.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';
import { Shop } from './outbox-stage.js';

const EVENTS = 20;
const ROWS = 'SELECT problem FROM nestjs_analytics.outbox';
const UNSEEN = `${ROWS} WHERE due_at = '-infinity'`;

describeWith('postgres', PostgresServer.installed, 'an outbox of two applications in one database', () => {
  const stage = new Stage();
  let server: PostgresServer;
  let database: Shop;
  let shopReceiver: Receiver;
  let billingReceiver: Receiver;

  beforeAll(async () => {
    server = await PostgresServer.create();
  });
  beforeEach(async () => {
    database = await stage.add(Shop.open(await server.createDatabase()));
    shopReceiver = await stage.receiver();
    billingReceiver = await stage.receiver();
  });
  afterAll(() => server.dispose());

  /** Both have one source and one destination, with the default names. */
  function start(name: 'shop' | 'billing', options: Partial<AppOptions> = {}): Promise<AnalyticsApp> {
    return stage.app({
      connection: database.url,
      prefix: name,
      writeKey: `wk_${name}`,
      webhooks: webhooksTo(name === 'shop' ? shopReceiver : billingReceiver),
      outbox: { connection: database.url, migrate: true },
      ...options,
    });
  }

  async function track(app: AnalyticsApp): Promise<string[]> {
    const ids: string[] = [];
    while (ids.length < EVENTS) ids.push(await database.pay(app));
    return ids.sort();
  }

  /** Resolves when a relay has decided about all rows. @param left number of rows that remain in the table */
  async function looked(left: number): Promise<void> {
    await until(async () => {
      const rows = await Promise.all([database.rows(UNSEEN), database.rows(ROWS)]);
      return rows[0].length === 0 && rows[1].length === left ? true : undefined;
    });
  }

  it('delivers to each application its own rows, and logs what is wrong', async () => {
    const producer = await start('billing', { worker: false });
    const shop = await start('shop');
    const [ofBilling, ofShop] = [await track(producer), await track(shop)];
    await looked(EVENTS);
    await shop.settled();
    expect(receivedIds(shopReceiver)).toEqual(ofShop);
    expect(await shop.log.line(/`outbox\.table`/)).toMatch(
      /^warn: nestjs_analytics\.outbox has rows of another application/,
    );
    await shop.close();
    // Makes the rows due, as if their pause were over.
    await database.rows(`UPDATE nestjs_analytics.outbox SET due_at = '-infinity'`);
    const billing = await start('billing');
    await billingReceiver.received(EVENTS);
    await looked(0);
    await billing.settled();
    expect(receivedIds(billingReceiver)).toEqual(ofBilling);
    expect(shopReceiver.requests).toHaveLength(EVENTS);
    expect(shop.log.analytics).toHaveLength(1);
  });

  it("does not delete the other application's users", async () => {
    shopReceiver = await stage.receiver({ answer: [404] });
    const billing = await start('billing', { worker: false });
    const shop = await start('shop', { unknownJobTimeout: 0 });
    const messageId = await database.pay(shop);
    await shop.failedJobs();
    await billing.analytics.within(database.pool).delete({ userId: 'u1' });
    await until(async () => {
      const [row] = await database.rows<{ problem: string | null }>(ROWS);
      return row?.problem === null ? undefined : true;
    });
    const failed = await shop.context.get(DeliveriesService).failed();
    expect(failed.map((message) => message.messageId)).toEqual([messageId]);
  });

  it('sets aside a row that no application takes in time, and delivers it once its marks are removed', async () => {
    const producer = await start('billing', { worker: false });
    const shop = await start('shop', { unknownJobTimeout: 0 });
    const messageId = await database.pay(producer);
    await shop.log.line(/is set aside: another application .* `outbox\.table`/);
    expect(await database.rows(ROWS)).toEqual([{ problem: expect.stringContaining('`outbox.table`') }]);
    await database.rows(
      `UPDATE nestjs_analytics.outbox
       SET message = (message::jsonb - 'marks')::text, due_at = '-infinity', problem = NULL`,
    );
    await shopReceiver.received(1);
    expect(receivedIds(shopReceiver)).toEqual([messageId]);
  });

  it('leaves the other application’s rows alone if both share an `endpoint`', async () => {
    const endpoint = shopReceiver.url().slice(0, -1);
    const options = { webhooks: undefined, endpoint, prefix: undefined };
    const billing = await start('billing', { ...options, worker: false });
    await database.pay(billing);
    const shop = await start('shop', options);
    await shop.log.line(/`outbox\.table`/);
    await looked(1);
    expect(shopReceiver.requests).toEqual([]);
  });

  it('leaves rows at first to the other application if both have the same URL', async () => {
    const options = { webhooks: webhooksTo(shopReceiver), prefix: 'staging' };
    const billing = await start('billing', { ...options, worker: false });
    await database.pay(billing);
    await start('shop', options);
    await looked(1);
    expect(await database.rows(ROWS)).toEqual([
      {
        problem: expect.stringMatching(/^left to other processes .*: perhaps another application wrote/),
      },
    ]);
    expect(shopReceiver.requests).toEqual([]);
  });

  it('keeps the other application’s rows that wait for room, though its sources have other names', async () => {
    const sources = [{ name: 'billing', writeKey: 'wk_billing' }];
    const billing = await start('billing', { sources, writeKey: undefined, worker: false });
    await database.pay(billing);
    await database.rows(`UPDATE nestjs_analytics.outbox SET destinations = '{webhooks}'`);
    const shop = await start('shop', { unknownJobTimeout: 0 });
    await shop.log.line(/has rows of another application/);
    await looked(1);
    expect(await database.rows(`${ROWS} WHERE due_at = 'infinity'`)).toEqual([]);
  });

  const two = (web: string): Partial<AppOptions> => ({
    writeKey: undefined,
    sources: [
      { name: 'web', writeKey: web },
      { name: 'app', writeKey: 'wk_app' },
    ],
  });
  const elsewhere = { webhooks: { urls: ['https://old.example.com'] } };

  it.each<[string, Partial<AppOptions>, Partial<AppOptions>]>([
    ['a new write key', { writeKey: 'wk_new' }, {}],
    ['a new URL', elsewhere, {}],
    [
      'a new URL, and a new write key of one of its sources',
      { ...elsewhere, ...two('wk_web') },
      two('wk_new'),
    ],
  ])('is not confused with the outbox of one application that has %s', async (_, before, after) => {
    const producer = await start('shop', { ...before, worker: false });
    const messageId = await database.pay(producer);
    await start('shop', { ...after, unknownJobTimeout: 0 });
    await shopReceiver.received(1);
    expect(receivedIds(shopReceiver)).toEqual([messageId]);
  });

  it('is not confused with that of one application with only run-time destinations and a new write key', async () => {
    const options = {
      webhooks: undefined,
      destinations: { allowPrivateNetwork: true, encryptionKey: '0'.repeat(64) },
    };
    const before = await start('shop', { ...options, writeKey: 'wk_old', worker: false });
    const { id } = await before.context
      .get(DestinationsService)
      .create({ tenant: 'acme', urls: [shopReceiver.url()] });
    const waiting = await database.pay(before, { tenant: 'acme' });
    await database.rows(
      `UPDATE nestjs_analytics.outbox SET destinations = '{${id}}', due_at = '9999-01-01T00:00:00Z'`,
    );
    const other = await database.pay(before, { tenant: 'acme' });
    await start('shop', { ...options, unknownJobTimeout: 0 });
    await shopReceiver.received(2);
    expect(receivedIds(shopReceiver)).toEqual([waiting, other].sort());
  });
});

import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { AnalyticsMessage } from '../../src/index.js';
import type { AnalyticsApp, AppOptions } from '../support/analytics-app.js';
import { describeWith } from '../support/describe-backend.js';
import { PostgresServer } from '../support/postgres-server.js';
import { readmeSnippet } from '../support/readme-snippet.js';
import { messageIn } from '../support/received-message.js';
import type { Receiver } from '../support/receiver.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';
import { Shop } from './outbox-stage.js';

const ROWS = 'SELECT source, message, problem FROM nestjs_analytics.outbox ORDER BY id';

describeWith('postgres', PostgresServer.installed, 'a call in a transaction', () => {
  const stage = new Stage();
  let server: PostgresServer;
  let shop: Shop;
  let receiver: Receiver;

  beforeAll(async () => {
    server = await PostgresServer.create();
  });
  beforeEach(async () => {
    shop = await stage.add(Shop.open(await server.createDatabase()));
    receiver = await stage.receiver();
  });
  afterAll(() => server.dispose());

  function start(options: Partial<AppOptions> = {}): Promise<AnalyticsApp> {
    return stage.app({
      connection: shop.url,
      webhooks: webhooksTo(receiver),
      outbox: { connection: shop.pool, migrate: true },
      ...options,
    });
  }

  it('may be of any type, and of any source', async () => {
    const app = await start({
      sources: [
        { name: 'web', writeKey: 'a' },
        { name: 'app', writeKey: 'b' },
      ],
    });
    const analytics = app.analytics.source('app').within(shop.pool);
    await analytics.identify({ userId: 'u1', traits: { plan: 'pro' } });
    await analytics.page({ userId: 'u1', name: 'Home' });
    await analytics.screen({ userId: 'u1', name: 'Home' });
    await analytics.group({ userId: 'u1', groupId: 'g1' });
    await analytics.alias({ userId: 'u1', previousId: 'a1' });
    await app.analytics.within(shop.pool).delete({ userId: 'u1' });
    await receiver.received(7);
    const types = receiver.requests.map((request) => messageIn(request).type).sort();
    expect(types).toEqual(['alias', 'delete', 'delete', 'group', 'identify', 'page', 'screen']);
    expect(app.analytics.source('app').usage()).toEqual({ received: 6, filtered: 0 });
  });

  it('is checked before it is written', async () => {
    const app = await start({ events: { Paid: z.object({ total: z.number() }) }, onViolation: 'throw' });
    const analytics = app.analytics.within(shop.pool);
    await expect(
      analytics.track({ userId: 'u1', event: 'Paid', properties: { total: '1' } }),
    ).rejects.toMatchObject({ code: 'EVENT_VIOLATION' });
    await expect(analytics.track({ userId: 'u1', event: '' })).rejects.toMatchObject({
      code: 'INVALID_MESSAGE',
    });
    const properties = { text: 'x'.repeat(33_000) };
    await expect(analytics.track({ userId: 'u1', event: 'E', properties })).rejects.toMatchObject({
      code: 'MESSAGE_TOO_LARGE',
    });
    await expect(
      analytics.track({ userId: 'u1', event: 'E', integrations: { CRM: { n: 1n } } }),
    ).rejects.toMatchObject({ code: 'INVALID_MESSAGE' });
    expect(await shop.rows(ROWS)).toEqual([]);
    expect(app.analytics.usage()).toEqual({ received: 0, filtered: 0 });
  });

  it('passes `beforeSend`, gets the context, and is a snapshot', async () => {
    const app = await start({
      context: { app: { name: 'shop' } },
      beforeSend: (message: AnalyticsMessage) =>
        message.type === 'track' && message.event === 'Secret' ? null : message,
    });
    const analytics = app.analytics.within(shop.pool);
    const properties = { total: 1 };
    const tracked = analytics.track({ userId: 'u1', event: 'Paid', properties });
    properties.total = 2;
    await tracked;
    await analytics.track({ userId: 'u1', event: 'Secret' });
    await receiver.received(1);
    await app.settled();
    expect(receiver.requests.map((request) => messageIn(request))).toMatchObject([
      { event: 'Paid', properties: { total: 1 }, context: { app: { name: 'shop' } } },
    ]);
  });

  it('writes nothing if no destination takes it', async () => {
    const app = await start({
      sources: [{ name: 'web', writeKey: 'a', schema: { Debug: false } }],
      worker: false,
      connection: shop.url,
    });
    await app.analytics.within(shop.pool).track({ userId: 'u1', event: 'Debug' });
    await app.analytics
      .within(shop.pool)
      .track({ userId: 'u1', event: 'E', integrations: { Webhooks: false } });
    expect(await shop.rows(ROWS)).toEqual([]);
    expect(app.analytics.usage()).toEqual({ received: 2, filtered: 1 });
  });

  it('is delivered in the order in which events were written', async () => {
    const options = {
      connection: shop.url,
      endpoint: receiver.url(),
      outbox: { connection: shop.pool, migrate: true },
    };
    const producer = await stage.app({ ...options, worker: false });
    const events = Array.from({ length: 20 }, (_, n) => `Step ${n}`);
    for (const event of events) await producer.analytics.within(shop.pool).track({ userId: 'u1', event });
    await stage.app(options);
    const [request] = await receiver.received(1);
    const { batch } = JSON.parse(String(request?.body)) as { batch: { event: string }[] };
    expect(batch.map(({ event }) => event)).toEqual(events);
  });

  it('rejects with the error of its transaction', async () => {
    const app = await start();
    const client = await shop.pool.connect();
    await client.query('BEGIN');
    await expect(client.query('SELECT 1 / 0')).rejects.toThrow('division by zero');
    const tracked = app.analytics.within(client).track({ userId: 'u1', event: 'E' });
    // In a transaction that has failed, PostgreSQL refuses every statement.
    await expect(tracked).rejects.toMatchObject({ code: '25P02' });
    await client.query('ROLLBACK');
    client.release();
  });

  it('rejects with OUTBOX_TABLE if the database of its transaction has no outbox', async () => {
    const app = await start();
    const other = await stage.add(Shop.open(await server.createDatabase()));
    await expect(app.analytics.within(other.pool).track({ userId: 'u1', event: 'E' })).rejects.toMatchObject({
      code: 'OUTBOX_TABLE',
    });
  });

  it.each([{}, undefined, { $executeRawUnsafe: () => 1 }])(
    'is refused with a value that is no executor (%p)',
    async (executor) => {
      const app = await start();
      expect(() => app.analytics.within(executor as never)).toThrow(
        expect.objectContaining({ code: 'INVALID_EXECUTOR' }),
      );
    },
  );

  it.each([
    ['text that is no JSON', '{"type":'],
    ['something that is no message', '{"type":"track"}'],
  ])('is delivered although another row holds %s, which is set aside', async (_, text) => {
    const app = await start();
    await shop.pool.query(
      `INSERT INTO nestjs_analytics.outbox (version, source, message) VALUES (1, 'default', $1)`,
      [text],
    );
    await app.analytics.within(shop.pool).track({ userId: 'u1', event: 'Good' });
    await receiver.received(1);
    await app.log.line(/The row 1 of nestjs_analytics\.outbox cannot be moved .* is set aside/);
    // The other row is deleted once the queue has its message.
    const left = await until(async () => {
      const rows = await shop.rows(ROWS);
      return rows.length === 1 ? rows : undefined;
    });
    expect(left).toEqual([{ source: 'default', message: text, problem: expect.stringMatching(/./) }]);
  });

  it('can be found once it is set aside, and corrected and sent, or given up, as the documentation says', async () => {
    const app = await start();
    await shop.pool.query(
      `INSERT INTO nestjs_analytics.outbox (version, source, message)
       SELECT 1, 'default', '{}' FROM generate_series(1, 2)`,
    );
    await app.log.line(/The row 1 of .* is set aside/);
    await app.log.line(/The row 2 of .* is set aside/);
    await app.analytics.within(shop.pool).track({ userId: 'u1', event: 'Good' });
    const page = await readFile(new URL('../../docs/transactions.md', import.meta.url), 'utf8');
    const [find = '', makeDue = '', giveUp = ''] = readmeSnippet(page, 'set aside').split('\n');
    expect((await shop.rows<{ id: string }>(find)).map(({ id }) => id).sort()).toEqual(['1', '2']);
    const [message] = (await receiver.received(1)).map((request) => messageIn(request));
    const corrected = { ...message, messageId: 'corrected' };
    await shop.pool.query('UPDATE nestjs_analytics.outbox SET message = $1 WHERE id = 1', [corrected]);
    await shop.pool.query(makeDue.replace('42', '1'));
    await shop.pool.query(giveUp.replace('42', '2'));
    await receiver.received(2);
    await app.settled();
    expect(receiver.requests.map((one) => one.headers['webhook-id'])).toContain('corrected');
    // A row is deleted once the queue has its message.
    await until(async () => ((await shop.rows(ROWS)).length === 0 ? true : undefined));
  });

  it('waits for a process that knows its source, and is set aside after `unknownJobTimeout`', async () => {
    const app = await start({ unknownJobTimeout: 0 });
    await shop.pool.query(
      `INSERT INTO nestjs_analytics.outbox (version, source, message) VALUES (1, 'other', '{}')`,
    );
    await app.log.line(/is set aside: its source is unknown/);
  });

  it('is read again the later, the more rows of unknown sources there are', async () => {
    await start();
    await shop.pool.query(
      `INSERT INTO nestjs_analytics.outbox (version, source, message)
       SELECT 1, 'other', '{}' FROM generate_series(1, 10000)`,
    );
    const perSecond = `
      SELECT count(*)::int AS rows FROM nestjs_analytics.outbox
      WHERE due_at > '-infinity' GROUP BY date_trunc('second', due_at)`;
    const most = await until(async () => {
      const counts = (await shop.rows<{ rows: number }>(perSecond)).map(({ rows }) => rows);
      return counts.reduce((sum, rows) => sum + rows, 0) === 10_000 ? Math.max(...counts) : undefined;
    });
    // A thousand, plus what the duration of statements shifts. All rows at once would be ten thousand.
    expect(most).toBeLessThanOrEqual(3_000);
  });
});

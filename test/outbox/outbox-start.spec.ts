import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { type OutboxOptions, OutboxService } from '../../src/index.js';
import { outboxTable } from '../../src/outbox/outbox-table.js';
import type { AnalyticsApp } from '../support/analytics-app.js';
import { describeWith } from '../support/describe-backend.js';
import { PostgresServer } from '../support/postgres-server.js';
import { Stage } from '../support/stage.js';
import { Shop } from './outbox-stage.js';

describeWith('postgres', PostgresServer.installed, 'the start of an application with an outbox', () => {
  const stage = new Stage();
  let server: PostgresServer;
  let shop: Shop;

  beforeAll(async () => {
    server = await PostgresServer.create();
  });
  beforeEach(async () => {
    shop = await stage.add(Shop.open(await server.createDatabase()));
  });
  afterAll(() => server.dispose());

  function start(outbox: OutboxOptions): Promise<AnalyticsApp> {
    return stage.app({ connection: shop.url, webhooks: { urls: ['https://hooks.example.com'] }, outbox });
  }

  it('fails if the table is missing, and names the SQL to run', async () => {
    await expect(start({ connection: shop.url })).rejects.toMatchObject({
      code: 'OUTBOX_TABLE',
      message: expect.stringMatching(/nestjs_analytics\.outbox .*does not exist.*outbox-sql/),
    });
  });

  it('succeeds after that SQL was run', async () => {
    await shop.pool.query(outboxTable('shop', 'events').create);
    await shop.pool.query(outboxTable('shop', 'events').create);
    const app = await start({ connection: shop.url, schema: 'shop', table: 'events' });
    const messageId = await app.analytics.within(shop.pool).track({ userId: 'u1', event: 'E' });
    const [row] = await shop.rows<{ message: string }>('SELECT message FROM shop.events');
    expect(JSON.parse(row?.message ?? '{}')).toMatchObject({ messageId, event: 'E' });
  });

  it('creates the table with `migrate`, even in several applications at once', async () => {
    const apps = Array.from({ length: 4 }, () => start({ connection: shop.url, migrate: true }));
    await Promise.all(apps);
    expect(await shop.rows('SELECT id FROM nestjs_analytics.outbox')).toEqual([]);
  });

  it('fails if the table is of another version', async () => {
    await shop.pool.query(outboxTable('public', 'outbox').create);
    await shop.pool.query(`COMMENT ON TABLE public.outbox IS 'nestjs-analytics outbox, version 9'`);
    await expect(start({ connection: shop.url, schema: 'public', migrate: true })).rejects.toMatchObject({
      code: 'OUTBOX_TABLE',
      message: expect.stringMatching(/has version 9/),
    });
  });

  it('fails if there is no such database', async () => {
    await expect(start({ connection: server.url('missing') })).rejects.toMatchObject({
      code: 'UNSUPPORTED_OUTBOX_DATABASE',
      message: expect.stringMatching(/there is no such database\. Correct `outbox\.connection`/),
    });
  });

  it('fails if the database is not PostgreSQL', async () => {
    const connection = {
      query: () => Promise.reject(Object.assign(new Error('near "("'), { code: 'SQLITE_ERROR' })),
    };
    await expect(start({ connection })).rejects.toMatchObject({
      code: 'UNSUPPORTED_OUTBOX_DATABASE',
      message: expect.stringMatching(/it is not PostgreSQL\. .* call `track` after/),
    });
  });

  it.each([
    ['a URL of MySQL', 'mysql://127.0.0.1/shop', 'a `mysql:` URL'],
    ['a file of SQLite', 'shop.sqlite', 'type string'],
    ['no database', undefined, 'undefined'],
  ])('fails if it is given %s', async (_, connection, got) => {
    await expect(start({ connection } as OutboxOptions)).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
      message: expect.stringMatching(`outbox\\.connection.*needs PostgreSQL.*${got}`),
    });
  });

  it('opens no outbox with `enabled: false`, and the status says so', async () => {
    const app = await stage.app({ enabled: false, outbox: { connection: shop.url } });
    await expect(app.context.get(OutboxService).status()).rejects.toMatchObject({
      code: 'OUTBOX_NOT_CONFIGURED',
      message: expect.stringContaining('`enabled: false`'),
    });
  });

  it('makes `within` throw OUTBOX_NOT_CONFIGURED if no outbox is configured', async () => {
    const app = await stage.app({ connection: shop.url, webhooks: { urls: ['https://hooks.example.com'] } });
    expect(() => app.analytics.within(shop.pool)).toThrow(
      expect.objectContaining({ code: 'OUTBOX_NOT_CONFIGURED' }),
    );
  });
});

import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { DeliveriesService, type EndpointEvent } from '../../src/index.js';
import type { OutboxDatabase } from '../../src/options/outbox-options.interface.js';
import type { AnalyticsApp, AppOptions } from '../support/analytics-app.js';
import { describeWith } from '../support/describe-backend.js';
import { receivedIds } from '../support/message-ids.js';
import { PostgresServer } from '../support/postgres-server.js';
import type { Receiver } from '../support/receiver.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';
import { Shop } from './outbox-stage.js';

/** Rows that are written together. */
const MANY = 50;
const ROWS = 'SELECT destinations FROM nestjs_analytics.outbox';

describeWith('postgres', PostgresServer.installed, 'an outbox with rows for a full destination', () => {
  const stage = new Stage();
  let server: PostgresServer;
  let shop: Shop;
  let quick: Receiver;
  let slow: Receiver;
  let isOpen: boolean;

  beforeAll(async () => {
    server = await PostgresServer.create();
  });
  beforeEach(async () => {
    shop = await stage.add(Shop.open(await server.createDatabase()));
    isOpen = false;
    quick = await stage.receiver();
    slow = await stage.receiver({ answer: () => (isOpen ? 200 : 503) });
  });
  afterAll(() => server.dispose());

  function start(outbox: Partial<NonNullable<AppOptions['outbox']>> = {}): Promise<AnalyticsApp> {
    return stage.app({
      connection: shop.url,
      webhooks: [webhooksTo(quick, { id: 'quick' }), webhooksTo(slow, { id: 'slow', backlogLimit: 1 })],
      outbox: { connection: shop.url, migrate: true, ...outbox },
    });
  }

  it('keeps their messages for it until there is room, and refuses none', async () => {
    const app = await start();
    const events: EndpointEvent[] = [];
    app.context.get(DeliveriesService).endpoints$.subscribe((event) => {
      if (event.type === 'full' || event.type === 'drained') events.push(event);
    });
    const first = await shop.pay(app);
    await slow.received(1);
    const second = await shop.pay(app);
    await quick.received(2);
    const left = await until(async () => {
      const rows = await shop.rows<{ destinations: string[] | null }>(ROWS);
      return rows[0]?.destinations == null ? undefined : rows;
    });
    expect(left).toEqual([{ destinations: ['slow'] }]);
    isOpen = true;
    await until(() => (receivedIds(slow).includes(second) ? true : undefined));
    await until(async () => ((await shop.rows(ROWS)).length === 0 ? true : undefined));
    await app.settled();
    expect(receivedIds(slow)).toEqual([first, second].sort());
    expect(quick.requests).toHaveLength(2);
    await until(() => (events.length > 1 ? true : undefined));
    expect(events).toMatchObject([
      { type: 'full', destination: 'slow', refused: 0 },
      { type: 'drained', destination: 'slow', refused: 0 },
    ]);
  }, 60_000);

  it('puts those off together that wait for the same destinations', async () => {
    const { database, statements } = watched(shop);
    const app = await start({ connection: database });
    await shop.pay(app);
    await slow.received(1);
    const client = await shop.pool.connect();
    await client.query('BEGIN');
    const analytics = app.analytics.within(client);
    for (let n = 0; n < MANY; n++) {
      await analytics.track({ userId: 'u1', event: 'For both' });
      await analytics.track({ userId: 'u1', event: 'For one', integrations: { quick: false } });
    }
    await client.query('COMMIT');
    client.release();
    const ids = await until(() => {
      const found = statements.flatMap((statement) => statement.ids);
      return found.length >= 2 * MANY ? found : undefined;
    });
    expect(new Set(ids).size).toBe(2 * MANY);
    expect(statements.length).toBeLessThan(5);
  });

  it('looks at them less and less often', async () => {
    const { database, statements } = watched(shop);
    const app = await start({ connection: database });
    await shop.pay(app);
    await slow.received(1);
    await shop.pay(app);
    await until(() => (statements.length > 0 ? true : undefined));
    for (const [age, wanted] of [
      ['10 s', 8_000],
      ['1 h', 30_000],
    ]) {
      await shop.pool.query(
        `UPDATE nestjs_analytics.outbox SET due_at = now(), created_at = now() - interval '${age}'`,
      );
      await until(() => (statements.some(({ delay }) => delay === wanted) ? true : undefined));
    }
  }, 30_000);
});

/** The database of an application, and the statements that put off rows there. */
function watched({ pool }: Shop): {
  database: OutboxDatabase;
  statements: { ids: unknown; delay: unknown }[];
} {
  const statements: { ids: unknown; delay: unknown }[] = [];
  const database: OutboxDatabase = {
    query: async (text, values) => {
      const result = await pool.query(text, values);
      if (/^\s*(WITH until|UPDATE)/.test(text)) statements.push({ ids: values[0], delay: values.at(-1) });
      return result;
    },
  };
  return { database, statements };
}

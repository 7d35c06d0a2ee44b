import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DeliveriesService, type EndpointEvent } from '../../src/index.js';
import type { OutboxDatabase } from '../../src/options/outbox-options.interface.js';
import { LIVE_FEED } from '../../src/live/live.providers.js';
import type { LiveEvent } from '../../src/live/live-event.js';
import { ALL_EVENTS, type LiveFeed } from '../../src/live/live-feed.js';
import type { AnalyticsApp, AppOptions } from '../support/analytics-app.js';
import { describeWith } from '../support/describe-backend.js';
import { receivedIds } from '../support/message-ids.js';
import { PostgresServer } from '../support/postgres-server.js';
import type { Receiver } from '../support/receiver.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';
import { Shop } from './outbox-stage.js';

/** Number of rows that are written together. */
const MANY = 50;
/** More waiting rows than a relay reads at once. */
const MANY_MORE = 6_000;
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

  it('keeps the messages until the destination has room, and refuses none', async () => {
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
  });

  describe('and a console that is open', () => {
    let app: AnalyticsApp;
    let feed: LiveFeed;

    beforeEach(async () => {
      app = await stage.app({
        connection: shop.url,
        destinations: { encryptionKey: '0'.repeat(64) },
        webhooks: [webhooksTo(quick, { id: 'quick' }), webhooksTo(slow, { id: 'slow', backlogLimit: 1 })],
        outbox: { connection: shop.url, migrate: true },
      });
      feed = app.context.get<LiveFeed>(LIVE_FEED);
      await feed.watch(ALL_EVENTS);
    });

    /** Resolves to the ids of the messages that are shown, as soon as there are this many. */
    function shown(count: number): Promise<(string | undefined)[]> {
      return until(async () => {
        await feed.watch(ALL_EVENTS);
        const events = await feed.read(ALL_EVENTS, 0);
        const ids = events.map(({ event }) => (JSON.parse(event) as LiveEvent).messageId);
        return ids.length >= count ? ids : undefined;
      });
    }

    it('shows each event once, though it is moved in parts', async () => {
      const first = await shop.pay(app);
      await slow.received(1);
      const second = await shop.pay(app);
      await quick.received(2);
      isOpen = true;
      await until(async () => {
        await feed.watch(ALL_EVENTS);
        return (await shop.rows(ROWS)).length === 0 ? true : undefined;
      });
      const last = app.analytics.track({
        userId: 'u1',
        event: 'The last one',
        integrations: { slow: false },
      });
      await app.analytics.flush();
      const ids = await until(async () => {
        const found = await shown(3);
        return found.includes(last) ? found : undefined;
      });
      expect(ids).toEqual([first, second, last]);
    });

    it('shows an event while it waits for room at its only destination', async () => {
      const first = await shop.pay(app);
      await slow.received(1);
      const second = await app.analytics
        .within(shop.pool)
        .track({ userId: 'u1', event: 'For one', integrations: { quick: false } });
      expect(await shown(2)).toEqual([first, second]);
    });
  });

  it('postpones rows together that wait for the same destinations', async () => {
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

  it('moves no more rows of one transaction to an empty queue than there is room for', async () => {
    const app = await start();
    await trackMany(app, {}, MANY);
    await quick.received(MANY);
    const left = await until(async () => {
      const rows = await shop.rows<{ destinations: string[] | null }>(ROWS);
      return rows.every(({ destinations }) => destinations !== null) ? rows : undefined;
    });
    expect(left).toEqual(new Array(MANY - 1).fill({ destinations: ['slow'] }));
    expect(new Set(receivedIds(slow)).size).toBeLessThanOrEqual(1);
  });

  it('leaves the rows alone while the destination stays full, however many there are', async () => {
    const { database, claims, looks } = watched(shop);
    const app = await start({ connection: database });
    await shop.pay(app);
    await slow.received(1);
    await trackMany(app, { quick: false });
    await waiting(MANY_MORE, 'slow');
    const alreadyLooked = looks();
    await until(() => (looks() >= alreadyLooked + 6 ? true : undefined));
    const times = await timesOf(claims, 'slow');
    expect(times).toHaveLength(MANY_MORE);
    expect(new Set(times)).toEqual(new Set([1]));
  });

  it('reads none of the rows to see that no other row is due', async () => {
    const { database, statementOfLook } = watched(shop);
    const app = await start({ connection: database });
    await shop.pay(app);
    await slow.received(1);
    await trackMany(app, { quick: false });
    await waiting(MANY_MORE, 'slow');
    await shop.pool.query('ANALYZE nestjs_analytics.outbox');
    const { text, values } = statementOfLook();
    const { rows } = await shop.pool.query<Record<string, string>>(`EXPLAIN ANALYZE ${text}`, values);
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(plan).toMatch(/actual time.* rows=0 /);
    expect(plan).not.toMatch(/Rows Removed by Filter/);
  });

  it('claims no more rows than there is room for', async () => {
    const { database, claims } = watched(shop);
    const app = await stage.app({
      connection: shop.url,
      webhooks: webhooksTo(slow, { id: 'slow', backlogLimit: 5 }),
      outbox: { connection: database, migrate: true },
    });
    const ids = await Promise.all(Array.from({ length: 5 }, () => shop.pay(app)));
    await slow.received(5);
    while (ids.length < 25) ids.push(await shop.pay(app));
    await waiting(20, 'slow');
    isOpen = true;
    await until(() => (receivedIds(slow).length === ids.length ? true : undefined));
    await until(async () => ((await shop.rows(ROWS)).length === 0 ? true : undefined));
    expect(receivedIds(slow)).toEqual(ids.sort());
    expect(Math.max(...claims.values())).toBe(2);
  });

  it('moves the rows of another destination that has room, in other processes too, and no others', async () => {
    const other = await stage.receiver({ answer: () => (isOpen ? 200 : 503) });
    const closed = await stage.receiver({ answer: [503] });
    const options: AppOptions = {
      connection: shop.url,
      webhooks: [
        webhooksTo(closed, { id: 'closed', backlogLimit: 1 }),
        webhooksTo(other, { id: 'other', backlogLimit: 1 }),
      ],
    };
    const app = await stage.app({ ...options, outbox: { connection: shop.url, migrate: true } });
    const first = await shop.pay(app);
    await Promise.all([closed.received(1), other.received(1)]);
    await trackMany(app, { other: false });
    const last = await app.analytics
      .within(shop.pool)
      .track({ userId: 'u1', event: 'For the other', integrations: { closed: false } });
    await waiting(MANY_MORE, 'closed');
    await waiting(1, 'other');
    await app.close();
    isOpen = true;
    const { database, claims, looks } = watched(shop);
    await Promise.all(
      Array.from({ length: 2 }, () => stage.app({ ...options, outbox: { connection: database } })),
    );
    await until(() => (receivedIds(other).includes(last) ? true : undefined));
    await until(() => (looks() >= 10 ? true : undefined));
    expect(receivedIds(other)).toEqual([first, last].sort());
    expect(claims.size).toBe(1);
    expect(await shop.rows(ROWS)).toHaveLength(MANY_MORE);
  });

  it('does not claim rows again and again that name a removed destination', async () => {
    const gone = await stage.receiver({ answer: [503] });
    const webhooks = [webhooksTo(slow, { id: 'slow', backlogLimit: 1 })];
    const before = await stage.app({
      connection: shop.url,
      webhooks: [...webhooks, webhooksTo(gone, { id: 'gone', backlogLimit: 1 })],
      outbox: { connection: shop.url, migrate: true },
    });
    await shop.pay(before);
    await Promise.all([slow.received(1), gone.received(1)]);
    await shop.pay(before);
    await shop.pay(before);
    await waiting(2, 'slow,gone');
    await before.close();
    // Like a row of a version that did not write `meantFor`, or a row for a run-time destination.
    await shop.rows(
      `UPDATE nestjs_analytics.outbox SET message = (message::jsonb - 'meantFor')::text
       WHERE id = (SELECT max(id) FROM nestjs_analytics.outbox)`,
    );
    const { database, claims, looks } = watched(shop);
    await stage.app({ connection: shop.url, webhooks, outbox: { connection: database } });
    await until(() => (looks() >= 8 ? true : undefined));
    expect([...claims.values()]).toEqual([1, 1]);
    // Both messages wait in the queue for a worker that knows the other destination.
    expect(await shop.rows(ROWS)).toEqual([{ destinations: ['slow'] }, { destinations: ['slow'] }]);
  });

  /** Tracks many events in one transaction, each as one call would. */
  async function trackMany(
    app: AnalyticsApp,
    integrations: Record<string, boolean>,
    count = MANY_MORE,
  ): Promise<void> {
    const client = await shop.pool.connect();
    await client.query('BEGIN');
    await app.analytics.within(client).track({ userId: 'u1', event: 'One of many', integrations });
    await client.query(
      `INSERT INTO nestjs_analytics.outbox (version, source, message)
       SELECT version, source, replace(message, message::json->>'messageId', gen_random_uuid()::text)
       FROM nestjs_analytics.outbox, generate_series(2, $1) WHERE message LIKE '%One of many%'`,
      [count],
    );
    await client.query('COMMIT');
    client.release();
  }

  async function waiting(count: number, destinations: string): Promise<void> {
    await until(async () => ((await idsOf(destinations)).length === count ? true : undefined));
  }

  async function idsOf(destinations: string): Promise<number[]> {
    const rows = await shop.rows<{ id: number }>(
      `SELECT id::float8 AS id FROM nestjs_analytics.outbox WHERE destinations = '{${destinations}}'`,
    );
    return rows.map(({ id }) => id);
  }

  async function timesOf(claims: ReadonlyMap<number, number>, destinations: string): Promise<number[]> {
    return (await idsOf(destinations)).map((id) => claims.get(id) ?? 0);
  }
});

interface WatchedDatabase {
  /** Never wakes the relays that use it. */
  database: OutboxDatabase;
  /** The statements that postponed rows. */
  statements: { ids: unknown }[];
  /** Number of claims of each row, by its id. */
  claims: ReadonlyMap<number, number>;
  /** Returns how often relays have looked for due rows. */
  looks: () => number;
  /** Returns the statement with which relays look. */
  statementOfLook: () => { text: string; values: unknown[] };
}

/** Returns the database of an application, with a record of what relays do there. */
function watched({ pool }: Shop): WatchedDatabase {
  const statements: { ids: unknown }[] = [];
  const claims = new Map<number, number>();
  let looks = 0;
  let statementOfLook = { text: '', values: [] as unknown[] };
  const database: OutboxDatabase = {
    query: async (text, values) => {
      const result = await pool.query<{ id: number }>(text, values);
      if (/^\s*(WITH until|UPDATE)/.test(text)) statements.push({ ids: values[0] });
      if (text.includes('due_at <=')) {
        looks++;
        statementOfLook = { text, values };
      }
      if (text.includes('SKIP LOCKED')) {
        for (const { id } of result.rows) claims.set(id, (claims.get(id) ?? 0) + 1);
      }
      return result;
    },
  };
  return { database, statements, claims, looks: () => looks, statementOfLook: () => statementOfLook };
}

import { expect, it } from '@jest/globals';
import {
  DeliveriesService,
  DestinationsService,
  type HourStats,
  type RecentDelivery,
  type RecentQuery,
} from '../../../src/index.js';
import { QUEUE_BACKEND, type QueueBackend, type QueueStorage } from '../../../src/queue/queue-backend.js';
import type { AnalyticsApp } from '../../support/analytics-app.js';
import { describeServers, describeServersOrEmbedded } from '../../support/describe-backend.js';
import { Stage, webhooksTo } from '../../support/stage.js';
import { until } from '../../support/until.js';

const DESTINATIONS = { allowPrivateNetwork: true, encryptionKey: Buffer.alloc(32, 1).toString('hex') };
const WEBHOOKS = { destination: 'webhooks' };

const deliveriesOf = (app: AnalyticsApp): DeliveriesService => app.context.get(DeliveriesService);
const storageOf = (app: AnalyticsApp): QueueStorage => app.context.get<QueueBackend>(QUEUE_BACKEND).storage;

/** Resolves to the recent deliveries of a destination once they meet the condition. */
function recentOf(
  app: AnalyticsApp,
  isWanted: (deliveries: RecentDelivery[]) => boolean,
  query: RecentQuery = WEBHOOKS,
): Promise<RecentDelivery[]> {
  return until(async () => {
    const deliveries = await deliveriesOf(app).recent(query);
    return isWanted(deliveries) ? deliveries : undefined;
  });
}

type Counts = Pick<HourStats, 'delivered' | 'retried' | 'failed'>;

function totalsOf(periods: readonly Counts[]): Counts {
  const total = (count: (period: Counts) => number): number =>
    periods.reduce((sum, period) => sum + count(period), 0);
  return {
    delivered: total(({ delivered }) => delivered),
    retried: total(({ retried }) => retried),
    failed: total(({ failed }) => failed),
  };
}

/** Returns all stored data of the history as one text. */
async function storedText(storage: QueueStorage): Promise<string> {
  if (storage.kind === 'redis') {
    const script = `
      local found = {}
      for _, key in ipairs(redis.call('KEYS', '*history*')) do
        found[#found + 1] = key
        local kind = redis.call('TYPE', key).ok
        local values = kind == 'hash' and redis.call('HGETALL', key) or kind == 'string' and {redis.call('GET', key)}
          or redis.call('ZRANGE', key, 0, -1)
        for _, value in ipairs(values) do found[#found + 1] = value end
      end
      return found`;
    return JSON.stringify(await storage.client.eval(script, 0));
  }
  const rows: unknown[] = [];
  for (const name of ['entry', 'hour', 'minute', 'waiting', 'writer']) {
    const table = `delivery_${name}`;
    const { rows: found } = await storage.pool.query<{ name: string | null }>(
      `SELECT to_regclass('nestjs_analytics.${table}')::text AS name`,
    );
    if (typeof found[0]?.name !== 'string') continue;
    rows.push(
      ...(await storage.pool.query<object>(`SELECT t::text FROM nestjs_analytics.${table} AS t`)).rows,
    );
  }
  return rows.length === 0 ? '[]' : JSON.stringify(rows);
}

describeServersOrEmbedded('the history of a destination', (backend) => {
  const stage = new Stage();

  it('shows the type, event, attempts and final state of a message', async () => {
    const receiver = await stage.receiver({ answer: [{ status: 503, body: 'come back' }, 200] });
    const app = await stage.app({
      connection: backend.connection,
      webhooks: webhooksTo(receiver, { retryWindow: 20_000 }),
    });
    const messageId = app.analytics.track({ userId: 'u1', event: 'Order Completed' });
    await app.analytics.flush();
    const [delivery] = await recentOf(app, ([latest]) => latest?.state === 'delivered');
    const origin = new URL(receiver.url()).origin;
    expect(delivery).toEqual({
      messageId,
      type: 'track',
      event: 'Order Completed',
      source: 'default',
      state: 'delivered',
      at: expect.any(Number),
      attempts: [
        {
          url: expect.any(String),
          origin,
          class: 'retry',
          status: 503,
          excerpt: 'come back',
          attempt: 1,
          at: expect.any(Number),
          duration: expect.any(Number),
        },
        expect.objectContaining({ origin, class: 'delivered', status: 200, attempt: 2 }),
      ],
    });
    const hours = await deliveriesOf(app).stats(WEBHOOKS);
    expect(hours).toHaveLength(168);
    expect(totalsOf(hours)).toEqual({ delivered: 1, retried: 1, failed: 0 });
    expect(hours.filter(({ durations }) => durations !== undefined).length).toBeGreaterThan(0);
    expect(hours.map(({ hour }) => hour)).toEqual(
      hours.map((_, index) => (hours[0]?.hour ?? 0) + index * 3_600_000),
    );
  });

  it('shows a message as retrying while it is retried, and as failed with the answer if it failed for good', async () => {
    const [refusing, busy] = [
      await stage.receiver({ answer: [{ status: 410, body: 'gone' }] }),
      await stage.receiver({ answer: [503] }),
    ];
    const app = await stage.app({
      connection: backend.connection,
      webhooks: [webhooksTo(refusing, { id: 'refusing' }), webhooksTo(busy, { id: 'busy' })],
    });
    app.analytics.identify({ userId: 'u1' });
    await app.analytics.flush();
    const [failed] = await recentOf(app, ({ length }) => length > 0, { destination: 'refusing' });
    expect(failed).toMatchObject({
      type: 'identify',
      state: 'failed',
      attempts: [{ status: 410, class: 'permanent', excerpt: 'gone' }],
    });
    expect(failed).not.toHaveProperty('event');
    const [retried] = await recentOf(app, ({ length }) => length > 0, { destination: 'busy' });
    expect(retried).toMatchObject({ state: 'retrying', attempts: [{ status: 503 }] });
    expect(totalsOf(await deliveriesOf(app).stats({ destination: 'refusing' }))).toMatchObject({ failed: 1 });
  });

  it('has the latest 100 of many messages, the latest first, and counts all of them', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({
      connection: backend.connection,
      webhooks: webhooksTo(receiver),
      concurrency: 1,
      flushAt: 1_000,
    });
    for (let n = 0; n < 250; n++) app.analytics.track({ userId: 'u1', event: 'E', messageId: `m${n}` });
    await app.analytics.flush();
    await receiver.received(250);
    await app.settled();
    const deliveries = deliveriesOf(app);
    await until(async () =>
      totalsOf(await deliveries.stats(WEBHOOKS)).delivered === 250 ? true : undefined,
    );
    const recent = await deliveries.recent(WEBHOOKS);
    expect(new Set(recent.map(({ messageId }) => messageId)).size).toBe(100);
    const times = recent.map(({ at }) => at);
    expect(times).toEqual([...times].sort((one, other) => other - one));
    expect(await deliveries.recent({ ...WEBHOOKS, limit: 3 })).toEqual(recent.slice(0, 3));
  });

  it('holds no data about the user of a message, and no headers', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({
      connection: backend.connection,
      webhooks: webhooksTo(receiver, { headers: { 'X-Secret': 'swordfish' }, sharedSecret: 'opensesame' }),
    });
    app.analytics.track({
      // These values cannot occur by chance in the digits of times and ids.
      userId: 'somebody',
      event: 'E',
      properties: { card: 'visa' },
      context: { ip: '203.0.113.7' },
    });
    await app.analytics.flush();
    await recentOf(app, ({ length }) => length > 0);
    const text = await storedText(storageOf(app));
    expect(text).toContain('webhooks');
    expect(text).not.toMatch(/somebody|visa|203\.0|swordfish|opensesame/);
  });

  it('survives a restart, on which unwritten entries are written', async () => {
    const receiver = await stage.receiver();
    const options = { connection: backend.connection, webhooks: webhooksTo(receiver), flushAt: 1 };
    const first = await stage.app(options);
    first.analytics.track({ userId: 'u1', event: 'before' });
    await receiver.received(1);
    await first.settled();
    await first.close();

    const next = await stage.app(options);
    expect(await deliveriesOf(next).recent(WEBHOOKS)).toMatchObject([
      { event: 'before', state: 'delivered' },
    ]);
    next.analytics.track({ userId: 'u1', event: 'after' });
    const recent = await recentOf(next, ({ length }) => length > 1);
    expect(recent.map(({ event }) => event)).toEqual(['after', 'before']);
    expect(totalsOf(await deliveriesOf(next).stats(WEBHOOKS)).delivered).toBe(2);
  });

  it('returns only the requested hours', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({
      connection: backend.connection,
      webhooks: webhooksTo(receiver),
      flushAt: 1,
    });
    app.analytics.track({ userId: 'u1', event: 'E' });
    await recentOf(app, ({ length }) => length > 0);
    const deliveries = deliveriesOf(app);
    const hours = await deliveries.stats({
      ...WEBHOOKS,
      from: new Date(Date.now() - 2 * 3_600_000),
      to: Date.now(),
    });
    expect(hours).toHaveLength(3);
    expect(totalsOf(hours).delivered).toBe(1);
    expect(await deliveries.stats({ ...WEBHOOKS, from: 0, to: 1 })).toEqual([]);
    expect(await deliveries.stats({ ...WEBHOOKS, from: 0, to: Infinity })).toHaveLength(168);
  });

  it('counts deliveries to all destinations by minute for the last hour, and by hour', async () => {
    const [taking, refusing] = [await stage.receiver(), await stage.receiver({ answer: [410] })];
    const app = await stage.app({
      connection: backend.connection,
      webhooks: [webhooksTo(taking, { id: 'taking' }), webhooksTo(refusing, { id: 'refusing' })],
      flushAt: 1,
    });
    const deliveries = deliveriesOf(app);
    const before = Date.now();
    for (let n = 0; n < 3; n++) app.analytics.track({ userId: 'u1', event: 'E' });
    const minutes = await until(async () => {
      const found = await deliveries.totalsByMinute();
      const { delivered, failed } = totalsOf(found);
      return delivered === 3 && failed === 3 ? found : undefined;
    });
    expect(minutes).toHaveLength(60);
    const [last] = minutes.slice(-1).map(({ minute }) => minute);
    expect(minutes.map(({ minute }) => minute)).toEqual(
      minutes.map((_, index) => (last ?? 0) - (59 - index) * 60_000),
    );
    const counted = minutes.filter(({ delivered }) => delivered > 0);
    expect(counted.every(({ minute }) => minute > before - 60_000 && minute <= Date.now())).toBe(true);
    expect(totalsOf(await deliveries.totals())).toEqual({ delivered: 3, retried: 0, failed: 3 });
  });

  it('is shown to a tenant only for its own destinations, and is deleted with the destination', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({
      connection: backend.connection,
      webhooks: webhooksTo(receiver, { id: 'own' }),
      destinations: DESTINATIONS,
      flushAt: 1,
    });
    const destinations = app.context.get(DestinationsService);
    const deliveries = deliveriesOf(app);
    const { id } = await destinations.create({ tenant: 'acme', urls: [receiver.url('/hook?key=secret')] });
    app.analytics.tenant('acme').track({ userId: 'u1', event: 'E' });
    const query = { destination: id, tenant: 'acme' };
    const [delivery] = await recentOf(app, ({ length }) => length > 0, query);
    expect(delivery?.attempts[0]?.origin).toBe(new URL(receiver.url()).origin);
    expect(totalsOf(await deliveries.stats(query)).delivered).toBe(1);

    const notFound = { code: 'DESTINATION_NOT_FOUND' };
    for (const other of [
      { ...query, tenant: 'other' },
      { ...query, destination: 'own' },
      { destination: 'none' },
    ]) {
      await expect(deliveries.recent(other)).rejects.toMatchObject(notFound);
      await expect(deliveries.stats(other)).rejects.toMatchObject(notFound);
    }
    expect(await storedText(storageOf(app))).toContain(id);
    await destinations.delete(id);
    await expect(deliveries.recent(query)).rejects.toMatchObject(notFound);
    expect(await storedText(storageOf(app))).not.toContain(id);
  });

  it('leaves no trace when it is turned off', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({
      connection: backend.connection,
      webhooks: webhooksTo(receiver),
      flushAt: 1,
      history: false,
    });
    app.analytics.track({ userId: 'u1', event: 'E' });
    await receiver.received(1);
    await app.settled();
    const off = { code: 'HISTORY_DISABLED', message: expect.stringContaining('history: false') };
    await expect(deliveriesOf(app).recent(WEBHOOKS)).rejects.toMatchObject(off);
    await expect(deliveriesOf(app).stats(WEBHOOKS)).rejects.toMatchObject(off);
    await expect(deliveriesOf(app).totals()).rejects.toMatchObject(off);
    await expect(deliveriesOf(app).totalsByMinute()).rejects.toMatchObject(off);
    expect(await storedText(storageOf(app))).toMatch(/^(\[\]|\{\})$/);
  });

  it('does not affect deliveries while it cannot be written, and is complete afterwards', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({
      connection: backend.connection,
      webhooks: webhooksTo(receiver),
      flushAt: 1,
    });
    const repair = await obstruct(storageOf(app));
    for (let n = 0; n < 5; n++) app.analytics.track({ userId: 'u1', event: `E${n}` });
    await receiver.received(5);
    await app.settled();
    expect(app.log.analytics).toEqual([]);
    await repair();
    const recent = await recentOf(app, ({ length }) => length === 5);
    expect(recent.every(({ state }) => state === 'delivered')).toBe(true);
    expect(totalsOf(await deliveriesOf(app).stats(WEBHOOKS)).delivered).toBe(5);
  });
});

/** Makes writes of the history fail, and no other writes. */
async function obstruct(storage: QueueStorage): Promise<() => Promise<unknown>> {
  if (storage.kind === 'redis') {
    const { client } = storage;
    const keys = ['entries', 'delivered'].map((name) => `{nestjs-analytics:history}:${name}:webhooks`);
    const obstruction = 'a text';
    await client.eval(
      "return redis.call('MSET', KEYS[1], ARGV[1], KEYS[2], ARGV[1])",
      2,
      ...keys,
      obstruction,
    );
    return () => client.eval("return redis.call('DEL', unpack(KEYS))", 2, ...keys);
  }
  const { pool } = storage;
  // Takes the lock of the migrations, because a migration may be under way.
  await pool.query('SELECT pg_advisory_xact_lock(4712366095); CREATE SCHEMA IF NOT EXISTS nestjs_analytics');
  await pool.query('CREATE TABLE nestjs_analytics.delivery_entry (other text)');
  return () => pool.query('DROP TABLE nestjs_analytics.delivery_entry');
}

describeServers('the history of a destination with several processes', (backend) => {
  const stage = new Stage();

  it('is deleted with the destination, including entries that are not written or answered yet', async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const receiver = await stage.receiver({
      answer: async (_, index) => {
        if (index === 1) await held;
        return 200;
      },
    });
    const own = webhooksTo(await stage.receiver());
    const options = { connection: backend.connection, destinations: DESTINATIONS, flushAt: 1 };
    const mine = await stage.app({ ...options, worker: false });
    const other = await stage.app({ ...options, webhooks: own });
    const { id } = await mine.context
      .get(DestinationsService)
      .create({ tenant: 'acme', urls: [receiver.url()] });
    for (const count of [1, 2]) {
      other.analytics.tenant('acme').track({ userId: 'u1', event: 'E' });
      await receiver.received(count);
    }
    await mine.context.get(DestinationsService).delete(id);
    await mine.close();
    release();
    await other.settled();
    // Any entry of the deleted destination would be written with this entry or before it.
    other.analytics.track({ userId: 'u1', event: 'Last' });
    await recentOf(other, ([latest]) => latest?.event === 'Last');
    expect(await storedText(storageOf(other))).not.toContain(id);
  });

  it('covers the deliveries of all processes', async () => {
    const receiver = await stage.receiver();
    const options = {
      connection: backend.connection,
      webhooks: webhooksTo(receiver),
      flushAt: 1,
      concurrency: 1,
    };
    const [one, other] = [await stage.app(options), await stage.app(options)];
    const producer = await stage.app({ ...options, worker: false });
    for (let n = 0; n < 100; n++) producer.analytics.track({ userId: 'u1', event: 'E', messageId: `m${n}` });
    await producer.analytics.flush();
    await receiver.received(100);
    await producer.settled();
    await Promise.all([one.close(), other.close()]);
    const recent = await deliveriesOf(producer).recent(WEBHOOKS);
    expect(new Set(recent.map(({ messageId }) => messageId)).size).toBe(100);
    expect(totalsOf(await deliveriesOf(producer).stats(WEBHOOKS))).toEqual({
      delivered: 100,
      retried: 0,
      failed: 0,
    });
  });

  it('shows how many messages wait, even while nothing is delivered, but not for times before the first count', async () => {
    const receiver = await stage.receiver({ answer: [503] });
    const options = { connection: backend.connection, webhooks: webhooksTo(receiver) };
    const producer = await stage.app({ ...options, worker: false });
    for (let n = 0; n < 3; n++) producer.analytics.track({ userId: 'u1', event: 'E' });
    await producer.close();

    const deliveries = deliveriesOf(await stage.app(options));
    const waitingIn = async (): Promise<unknown[]> => [
      (await deliveries.totalsByMinute()).at(-1)?.waiting,
      (await deliveries.totals()).at(-1)?.waiting,
    ];
    await until(async () => ((await waitingIn()).every((waiting) => waiting === 3) ? true : undefined));
    // Nothing is known about the time before a process counted the waiting messages.
    expect((await deliveries.totalsByMinute())[0]).toMatchObject({ delivered: 0, waiting: undefined });
    expect((await deliveries.totals())[0]).toMatchObject({ delivered: 0, waiting: undefined });
    expect(totalsOf(await deliveries.totalsByMinute())).toMatchObject({ delivered: 0, failed: 0 });
  });

  it('goes on after an outage of the queue, without a log line of its own', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({
      connection: backend.connection,
      webhooks: webhooksTo(receiver),
      flushAt: 1,
    });
    app.analytics.track({ userId: 'u1', event: 'before' });
    await receiver.received(1);
    await app.settled();
    await backend.server.stop();
    app.analytics.track({ userId: 'u1', event: 'meanwhile' });
    await app.log.line(/The queue on/);
    await backend.server.start();
    await receiver.received(2);
    await recentOf(app, ([latest]) => latest?.event === 'meanwhile');
    expect(app.log.analytics.filter((line) => line.includes('history'))).toEqual([]);
  });
});

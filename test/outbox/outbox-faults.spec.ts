import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { AnalyticsHealthIndicator, DestinationsService } from '../../src/index.js';
import type { Outbox } from '../../src/outbox/outbox.js';
import { OUTBOX } from '../../src/outbox/outbox.providers.js';
import { OUTBOX_CHANNEL } from '../../src/outbox/outbox-table.js';
import type { AnalyticsApp } from '../support/analytics-app.js';
import { describeMissing, describeWith } from '../support/describe-backend.js';
import { receivedIds } from '../support/message-ids.js';
import { PostgresServer } from '../support/postgres-server.js';
import type { Receiver } from '../support/receiver.js';
import { RedisServer } from '../support/redis-server.js';
import { messageIn } from '../support/received-message.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';
import { Shop } from './outbox-stage.js';

const IN_TRANSACTION = `SELECT pid FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid() AND state LIKE 'idle in transaction%'`;
const WAITING_FOR_LOCK = `SELECT pid FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%UPDATE%'`;
const WAITING = 'SELECT id FROM nestjs_analytics.outbox';
const CLAIMED = `${WAITING} WHERE due_at > now()`;

describeWith('postgres', PostgresServer.installed, 'an outbox in trouble', () => {
  if (!RedisServer.installed) {
    describeMissing('an outbox beside Redis', 'redis-server');
    return;
  }
  const stage = new Stage();
  let server: PostgresServer;
  let redis: RedisServer;
  let shop: Shop;
  let receiver: Receiver;
  let database = 0;

  beforeAll(async () => {
    [server, redis] = await Promise.all([PostgresServer.create(), RedisServer.create({ appendOnly: true })]);
  });
  beforeEach(async () => {
    await Promise.all([server.start(), redis.start()]);
    shop = await stage.add(Shop.open(await server.createDatabase()));
    receiver = await stage.receiver();
    database++;
  });
  afterAll(async () => {
    await server.dispose();
    await redis.dispose();
  });

  function start(): Promise<AnalyticsApp> {
    return stage.app({
      connection: redis.url(database),
      webhooks: webhooksTo(receiver),
      outbox: { connection: shop.url, migrate: true },
    });
  }

  async function emptied(): Promise<void> {
    await until(async () => ((await shop.rows(WAITING)).length === 0 ? true : undefined));
  }

  it('is counted rarely if a count takes long, however often health checks ask', async () => {
    let counts = 0;
    const app = await stage.app({
      connection: redis.url(database),
      webhooks: webhooksTo(receiver),
      outbox: {
        migrate: true,
        connection: {
          query: async (text: string, values: unknown[]) => {
            if (text.includes('count(*)')) {
              counts++;
              await pause(500);
            }
            return shop.pool.query(text, values);
          },
        },
      },
    });
    const health = app.context.get(AnalyticsHealthIndicator);
    for (let n = 0; n < 10; n++) {
      const { analytics } = await health.isHealthy('analytics', { timeout: 30_000 });
      expect(analytics.outbox).toEqual({ waiting: 0, oldestAge: 0, setAside: 0 });
    }
    expect(counts).toBeLessThan(5);
  });

  it('keeps its rows while the queue is away, with no transaction open', async () => {
    const app = await start();
    await redis.stop();
    await app.log.line(/The queue on Redis cannot be reached/);
    const ids = [await shop.pay(app), await shop.pay(app)];
    for (let look = 0; look < 20; look++) {
      expect(await shop.rows(IN_TRANSACTION)).toEqual([]);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(await shop.rows(WAITING)).toHaveLength(2);
    await redis.start();
    await receiver.received(2);
    await emptied();
    expect(receivedIds(receiver)).toEqual(ids.sort());
  });

  it('moves a row again, as the same job, when its claim runs out while the queue hangs', async () => {
    const apps = await Promise.all([start(), start()]);
    redis.pause();
    const messageId = await shop.pay(apps[0]);
    const claimed = async (): Promise<void> => {
      await until(async () => ((await shop.rows(CLAIMED)).length === 1 ? true : undefined));
    };
    await claimed();
    // Ends the claim; the other relay has nothing in hand.
    await shop.pool.query(`UPDATE nestjs_analytics.outbox SET due_at = '-infinity'`);
    await claimed();
    redis.resume();
    await receiver.received(1);
    await emptied();
    await Promise.all(apps.map((app) => app.settled()));
    expect(receivedIds(receiver)).toEqual([messageId]);
    expect(receiver.requests).toHaveLength(1);
  });

  it('is part of the health check, even while its database does not answer', async () => {
    const app = await start();
    await redis.stop();
    await app.log.line(/The queue on Redis cannot be reached/);
    await shop.pay(app);
    const indicator = app.context.get(AnalyticsHealthIndicator);
    const { late } = await until(async () => {
      const found = await indicator.isHealthy('late', { timeout: 5_000, oldestInOutbox: 0 });
      return (found.late.outbox?.oldestAge ?? 0) > 0 ? found : undefined;
    });
    expect(late.outbox).toMatchObject({ waiting: 1, setAside: 0 });
    expect(late.reasons).toContainEqual(expect.stringMatching(/^A row has waited in the outbox for \d+ ms/));
    server.pause();
    try {
      // On a busy machine, the last count took long and is reused for a while.
      const silent = await until(async () => {
        const found = await indicator.isHealthy('silent', { timeout: 300, oldestInOutbox: 60_000 });
        return found.silent.outbox === undefined ? found.silent : undefined;
      });
      expect(silent.reasons).toContain('The outbox did not answer within 300 ms.');
    } finally {
      server.resume();
    }
    await redis.start();
    await receiver.received(1);
  });

  it('closes within the given time while its database does not answer', async () => {
    const app = await start();
    const holder = await shop.pool.connect();
    await holder.query('BEGIN; LOCK TABLE nestjs_analytics.outbox');
    await shop.pool.query(`SELECT pg_notify('${OUTBOX_CHANNEL}', '')`);
    await until(async () => ((await shop.rows(WAITING_FOR_LOCK)).length > 0 ? true : undefined));
    const closed = app.context.get<Outbox>(OUTBOX).close(1_000);
    // Its statement waits for the lock until it times out, after ten seconds.
    const first = await Promise.race([
      closed.then(() => 'closed'),
      pause(8_000, '8 s later', { ref: false }),
    ]);
    holder.release(true);
    expect(first).toBe('closed');
  });

  it('keeps the tenant that a call has named', async () => {
    const acme = await stage.receiver();
    const app = await stage.app({
      connection: redis.url(database),
      webhooks: webhooksTo(receiver),
      destinations: { encryptionKey: '0'.repeat(64), allowPrivateNetwork: true },
      outbox: { connection: shop.url, migrate: true },
    });
    const destinations = app.context.get(DestinationsService);
    await destinations.create({ tenant: 'acme', urls: [acme.url()] });
    await destinations.create({ tenant: 'globex', urls: [receiver.url('/globex')] });
    const messageId = await shop.pay(app, { tenant: 'acme' });
    await Promise.all([acme.received(1), receiver.received(1)]);
    await app.settled();
    expect([receivedIds(acme), receivedIds(receiver)]).toEqual([[messageId], [messageId]]);
    expect(receiver.requests.map(({ url }) => url)).toEqual(['/']);
    expect(acme.requests.map((request) => messageIn(request))).toMatchObject([
      { context: { groupId: 'acme' } },
    ]);
  });

  it('starts while its database is away, logs that, and catches up', async () => {
    await server.stop();
    const app = await start();
    await app.log.line(/The outbox cannot be read/);
    await server.start();
    await app.log.line(/The outbox can be read again/);
    const messageId = await shop.pay(app);
    await receiver.received(1);
    expect(receivedIds(receiver)).toEqual([messageId]);
  });

  it('moves rows that were committed before and after a restart of its database', async () => {
    const app = await start();
    const before = await shop.pay(app);
    await receiver.received(1);
    await server.stop();
    await app.log.line(/The outbox cannot be read/);
    await server.start();
    const after = await shop.pay(app);
    await receiver.received(2);
    await app.log.line(/The outbox can be read again/);
    await emptied();
    expect(receivedIds(receiver)).toEqual([before, after].sort());
  });

  // Polls alone, two seconds apart, would take longer than a test may.
  it('is woken by each commit', async () => {
    const app = await start();
    for (let count = 1; count <= 100; count++) {
      await shop.pay(app);
      await receiver.received(count);
    }
  });

  it.each([
    ['', 'read committed'],
    [' also where transactions are stricter by default', 'repeatable read'],
  ])('has each row moved by several relays as one message%s', async (_, isolation) => {
    const name = new URL(shop.url).pathname.slice(1);
    await shop.rows(`ALTER DATABASE ${name} SET default_transaction_isolation = '${isolation}'`);
    const apps = await Promise.all(Array.from({ length: 10 }, () => start()));
    const ids: string[] = [];
    for (let round = 0; round < 20; round++) {
      ids.push(...(await Promise.all(apps.map((app) => shop.pay(app)))));
    }
    await receiver.received(ids.length);
    await emptied();
    await Promise.all(apps.map((app) => app.settled()));
    // A message whose answer was lost is sent again, under the same id.
    expect(receivedIds(receiver)).toEqual(ids.sort());
    for (const { log } of apps) expect(log.analytics).toEqual([]);
  });

  it('keeps rows in the table that the queue has not taken when the application closes', async () => {
    const app = await start();
    await redis.stop();
    await app.log.line(/The queue on Redis cannot be reached/);
    const messageId = await shop.pay(app);
    await app.close();
    expect(await shop.rows(WAITING)).toHaveLength(1);
    await redis.start();
    await start();
    await receiver.received(1);
    expect(receivedIds(receiver)).toEqual([messageId]);
  });
});

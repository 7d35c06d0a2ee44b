import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { DestinationsService, type WebhooksOptions } from '../../src/index.js';
import { createRateLimitStore } from '../../src/delivery/rate-limits/create-rate-limit-store.js';
import { PostgresRateLimitStore } from '../../src/delivery/rate-limits/postgres-rate-limit-store.js';
import { RateBudget } from '../../src/delivery/rate-limits/rate-budget.js';
import type { RateLimitStore } from '../../src/delivery/rate-limits/rate-limit-store.js';
import type { QueueBackend } from '../../src/queue/queue-backend.js';
import type { AnalyticsApp, AppOptions } from '../support/analytics-app.js';
import { startApplication } from '../support/application-child.js';
import type { GuardedChild } from '../support/child-process.js';
import {
  describeBackend,
  describeServers,
  describeServersOrEmbedded,
  type TestConnection,
} from '../support/describe-backend.js';
import { emptyBackends } from '../support/empty-backends.js';
import { FakeClock } from '../support/fake-clock.js';
import { messageIds, receivedIds } from '../support/message-ids.js';
import { openBackend } from '../support/open-backend.js';
import type { Receiver } from '../support/receiver.js';
import { eventsIn } from '../support/received-message.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';

const isEmbedded = (connection: TestConnection): boolean => typeof connection !== 'string';

/** Returns the largest number of requests within any period of this length, in milliseconds. */
function mostWithin(times: readonly number[], length: number): number {
  return Math.max(...times.map((start) => times.filter((at) => at >= start && at < start + length).length));
}

/** Resolves to how often the jobs that are put back now have been taken from the queue. */
async function timesTaken({ queue }: AnalyticsApp): Promise<number> {
  const jobs = await queue.getDelayed();
  return jobs.reduce((sum, { attemptsStarted }) => sum + attemptsStarted, 0);
}

describeServersOrEmbedded('the `rateLimit` of a destination', (backend) => {
  let children: GuardedChild[];

  beforeEach(() => {
    children = [];
  });
  afterEach(async () => {
    await Promise.all(children.map((child) => child.stop('SIGKILL')));
  });
  const stage = new Stage();

  function start(options: AppOptions): Promise<AnalyticsApp> {
    return stage.app({ connection: backend.connection, ...options });
  }

  /** Starts a receiver that records the times of its requests. */
  async function receive(): Promise<{ receiver: Receiver; times: number[] }> {
    const times: number[] = [];
    const receiver = await stage.receiver({
      answer: () => {
        times.push(performance.now());
        return 200;
      },
    });
    return { receiver, times };
  }

  async function track(app: AnalyticsApp, ids: readonly string[], integrations = {}): Promise<void> {
    for (const messageId of ids) {
      app.analytics.track({ userId: 'u1', event: 'Limited', messageId, integrations });
    }
    await app.analytics.flush();
  }

  it('applies to all processes together, and lets each message arrive once', async () => {
    const { connection } = backend;
    const { receiver, times } = await receive();
    const webhooks = (name: string): WebhooksOptions =>
      webhooksTo(receiver, { rateLimit: 20, headers: { 'X-Process': name } });
    // No other process can open the embedded database.
    const names = isEmbedded(connection) ? [] : ['one', 'two'];
    const app = await start({ webhooks: webhooks('own'), worker: names.length === 0 });
    children = await Promise.all(
      names.map((name) => startApplication({ connection, webhooks: webhooks(name), end: 'kill' })),
    );
    await Promise.all(children.map((child) => child.waitFor(/^taken$/)));
    const ids = messageIds('limited', 100);
    // Several jobs, so that chance does not give all of them to one process.
    for (let first = 0; first < 100; first += 5) await track(app, ids.slice(first, first + 5));
    await receiver.received(100);
    expect(receivedIds(receiver)).toEqual([...ids].sort());
    expect(receiver.requests).toHaveLength(100);
    const senders = new Set(receiver.requests.map(({ headers }) => headers['x-process']));
    expect([...senders].sort()).toEqual(names.length === 0 ? ['own'] : names);
    expect(mostWithin(times, 2_000)).toBeLessThanOrEqual(2 * 20 * 1.2);
  });

  it('counts each URL', async () => {
    const first = await receive();
    const second = await receive();
    const urls = webhooksTo([first.receiver, second.receiver], { rateLimit: 20 });
    const app = await start({ webhooks: urls });
    await track(app, messageIds('both', 40));
    await Promise.all([first.receiver.received(40), second.receiver.received(40)]);
    const times = [...first.times, ...second.times];
    expect(mostWithin(times, 2_000)).toBeLessThanOrEqual(2 * 20 * 1.2);
  });

  it('may be a fraction, so that the time between two messages is not a whole number of milliseconds', async () => {
    const { receiver } = await receive();
    const app = await start({ webhooks: webhooksTo(receiver, { rateLimit: 0.7 }) });
    await track(app, messageIds('uneven', 3));
    await receiver.received(3);
    expect(receivedIds(receiver)).toEqual(messageIds('uneven', 3));
  });

  it('loses no message that has the same id as another message', async () => {
    const { receiver } = await receive();
    const app = await start({ webhooks: webhooksTo(receiver, { rateLimit: 0.5 }) });
    const timestamp = new Date();
    for (const event of ['One', 'Two', 'Two']) {
      app.analytics.track({ userId: 'u1', messageId: 'same', event, timestamp });
    }
    await app.analytics.flush();
    expect(eventsIn(await receiver.received(3))).toEqual(['One', 'Two', 'Two']);
  });

  it('does not hold back other destinations, however many destinations wait for their limits', async () => {
    const limited = await receive();
    const other = await receive();
    const slow = messageIds('slow', 40).map((id) => webhooksTo(limited.receiver, { id, rateLimit: 0.1 }));
    const app = await start({
      // 32 jobs in hand, fewer than the waiting destinations.
      concurrency: 1,
      webhooks: [...slow, webhooksTo(other.receiver, { id: 'other' })],
    });
    for (let round = 0; round < 5; round++)
      await track(app, messageIds(`limited-${round}`, 5), { other: false });
    await track(app, messageIds('other', 100), { All: false, other: true });
    await other.receiver.received(100);
    expect(receivedIds(other.receiver)).toHaveLength(100);
    expect(limited.receiver.requests.length).toBeLessThan(40 * 25);
  });

  it('does not hold back another destination that has a higher limit', async () => {
    const limited = await receive();
    const other = await receive();
    const slow = messageIds('slow', 40).map((id) => webhooksTo(limited.receiver, { id, rateLimit: 0.1 }));
    const app = await start({
      concurrency: 1,
      webhooks: [...slow, webhooksTo(other.receiver, { id: 'other', rateLimit: 100 })],
    });
    for (let round = 0; round < 5; round++)
      await track(app, messageIds(`limited-${round}`, 5), { other: false });
    // The slow destinations send one message each every ten seconds, all at about the same time. Then their places are
    // taken again.
    await limited.receiver.received(80);
    for (const id of messageIds('other', 3)) {
      const arrived = other.receiver.received(other.receiver.requests.length + 1);
      await track(app, [id], { All: false, other: true });
      await arrived;
    }
    // Before half of the slow destinations have had their next turn.
    expect(limited.receiver.requests.length).toBeLessThan(100);
  });

  it('leaves waiting messages in the queue, even if nothing is retried', async () => {
    const waiting = 300;
    const { receiver } = await receive();
    const app = await start({ webhooks: webhooksTo(receiver, { rateLimit: 0.1, retryWindow: 0 }) });
    for (const id of messageIds('waiting', waiting)) await track(app, [id]);
    // All messages but those in hand.
    await until(async () => ((await app.queue.getDelayedCount()) >= waiting - 5 ? true : undefined));
    const before = await timesTaken(app);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect((await timesTaken(app)) - before).toBeLessThan(waiting / 4);
  });

  it('sends all of a batch before the next batch, and divides no batch before its turn', async () => {
    const { receiver } = await receive();
    const app = await start({ webhooks: webhooksTo(receiver, { rateLimit: 1 }) });
    await app.queue.pause();
    const batches = Array.from({ length: 10 }, (_, n) => messageIds(`batch${n}`, 20));
    for (const ids of batches) await track(app, ids);
    await app.queue.resume();
    await receiver.received(10);
    const touched = new Set(receivedIds(receiver).map((id) => id.split('-')[0]));
    expect(touched.size).toBeLessThanOrEqual(3);
    // Each of these batches is a few jobs by now.
    expect(await app.queue.getJobCountByTypes('waiting', 'active', 'delayed')).toBeLessThan(35);
  });

  it('loses no message if the application shuts down while messages wait', async () => {
    const { receiver } = await receive();
    const ids = messageIds('kept', 60);
    const app = await start({ webhooks: webhooksTo(receiver, { rateLimit: 5 }), shutdownTimeout: 1_000 });
    await track(app, ids);
    await receiver.received(2);
    await app.close();
    expect(receivedIds(receiver).length).toBeLessThan(60);
    const next = await start({ webhooks: webhooksTo(receiver) });
    await until(() => (receivedIds(receiver).length === 60 ? true : undefined));
    await next.settled();
    expect(receivedIds(receiver)).toEqual([...ids].sort());
    expect(receiver.requests).toHaveLength(60);
  });

  it('can be set for destinations at run time, and a change applies to waiting messages', async () => {
    const { receiver } = await receive();
    const app = await start({ destinations: { allowPrivateNetwork: true, encryptionKey: false } });
    const destinations = app.context.get(DestinationsService);
    const { id, rateLimit } = await destinations.create({
      tenant: 'acme',
      urls: [receiver.url()],
      rateLimit: 0.5,
    });
    expect(rateLimit).toBe(0.5);
    for (const messageId of messageIds('waiting', 200)) {
      app.analytics.tenant('acme').track({ userId: 'u1', event: 'E', messageId });
    }
    await app.analytics.flush();
    await receiver.received(1);
    expect((await destinations.update(id, { rateLimit: null })).rateLimit).toBeUndefined();
    await receiver.received(200);
    expect(receivedIds(receiver)).toEqual(messageIds('waiting', 200).sort());
    await expect(destinations.update(id, { rateLimit: 0 })).rejects.toMatchObject({
      code: 'INVALID_DESTINATION',
      problems: [{ path: 'rateLimit' }],
    });
  });

  it('does not wait for a time that was reserved under a lower limit', async () => {
    const { receiver } = await receive();
    const app = await start({ destinations: { allowPrivateNetwork: true, encryptionKey: false } });
    const destinations = app.context.get(DestinationsService);
    const urls = ['/a', '/b'].map((path) => receiver.url(path));
    const { id } = await destinations.create({ tenant: 'acme', urls, rateLimit: 0.1 });
    for (let n = 0; n < 5; n++) app.analytics.tenant('acme').track({ userId: 'u1', event: 'E' });
    await app.analytics.flush();
    await receiver.received(2);
    const changedAt = performance.now();
    await destinations.update(id, { rateLimit: 100 });
    await receiver.received(10);
    // The second message would be due after 20 seconds, and the third after 40.
    expect(performance.now() - changedAt).toBeLessThan(10_000);
  });
});

describeBackend('the store of rate limits', (backend) => {
  const openEmpty = emptyBackends(backend);
  let opened: QueueBackend;
  let store: RateLimitStore;

  beforeEach(async () => {
    opened = await openEmpty();
    store = await createRateLimitStore(opened, isEmbedded(backend.connection));
  });
  afterEach(() => opened.close());

  it('never reserves the same time twice', async () => {
    const length = 100_000;
    const waits = await Promise.all(Array.from({ length: 20 }, () => store.reserve('one', length)));
    const inOrder = waits.sort((a, b) => a - b);
    const first = inOrder[0] ?? 0;
    expect(first).toBeLessThanOrEqual(0);
    expect(inOrder.map((wait) => Math.round((wait - first) / length))).toEqual([...inOrder.keys()]);
  });

  /** Sends a message under each limit. Under the first limit, a message takes 100 seconds. */
  async function changeLimits(ofBudget: RateLimitStore): Promise<void> {
    let resume: () => void = () => undefined;
    const budget = new RateBudget(ofBudget, 'one', () => {
      resume();
    });
    for (const limit of [0.01, 100, 200]) {
      while (!budget.take(limit, 1)) await new Promise<void>((resolve) => (resume = resolve));
    }
  }

  it('keeps no data of former limits, however often the limit changes', async () => {
    await changeLimits(store);
    for (const former of ['one 0.01', 'one 100']) {
      await until(async () => ((await store.reserve(former, 0)) <= 0 ? true : undefined));
    }
  });

  it('does not wait until a former limit is forgotten', async () => {
    await changeLimits({
      reserve: (destination, milliseconds) => store.reserve(destination, milliseconds),
      forget: () => new Promise(() => undefined),
    });
  });

  it('reserves times for each destination separately', async () => {
    await store.reserve('one', 100_000);
    expect(await store.reserve('other', 100_000)).toBeLessThanOrEqual(0);
  });
});

describeServers('the store of rate limits', (backend) => {
  const HOUR = 3_600_000;

  /** Changes the stored times as if the clock of the server had been set back by an hour since. */
  async function setBackClock({ storage }: QueueBackend): Promise<unknown> {
    if (storage.kind === 'postgres') {
      return storage.pool.query(
        `UPDATE nestjs_analytics.rate_limit SET reserved_until = reserved_until + ${HOUR}, asked_at = asked_at + ${HOUR}`,
      );
    }
    const script = `
      local times = {}
      for time in redis.call('GET', KEYS[1]):gmatch('%S+') do
        table.insert(times, string.format('%.3f', time + ARGV[1]))
      end
      return redis.call('SET', KEYS[1], table.concat(times, ' '))`;
    return storage.client.eval(script, 1, 'nestjs-analytics:rates:one', HOUR);
  }

  it('continues after the reserved times when the clock of its server is set back', async () => {
    const opened = await openBackend(backend.connection);
    const store = await createRateLimitStore(opened, false);
    const length = 100_000;
    const first = await store.reserve('one', length);
    await setBackClock(opened);
    const waits = [first, await store.reserve('one', length), await store.reserve('one', length)];
    expect(waits.map((wait) => Math.round((wait - first) / length))).toEqual([0, 1, 2]);
    await opened.close();
  });

  if (backend.name === 'PostgreSQL') {
    it('removes what nobody has used for a day, even if no process starts anew', async () => {
      const opened = await openBackend(backend.connection);
      const { storage } = opened;
      if (storage.kind === 'redis') throw new Error('This is about PostgreSQL');
      const clock = new FakeClock();
      const store = new PostgresRateLimitStore(storage.pool, clock);
      for (const destination of ['unused', 'used']) await store.reserve(destination, 1);
      const aged = `UPDATE nestjs_analytics.rate_limit SET reserved_until = reserved_until - ${25 * HOUR}`;
      await storage.pool.query(aged);
      await store.reserve('used', 1);
      clock.stall(HOUR);
      await store.reserve('used', 1);
      await until(async () => {
        const { rows } = await storage.pool.query('SELECT destination FROM nestjs_analytics.rate_limit');
        return rows.length === 1 ? true : undefined;
      });
      await opened.close();
    });
  }
});

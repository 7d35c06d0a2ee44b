import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { DestinationsService } from '../../src/index.js';
import type { NewJob } from '../../src/queue/batch-job.js';
import { BatchQueue } from '../../src/queue/batch-queue.js';
import type { AnalyticsApp, AppOptions } from '../support/analytics-app.js';
import { deferred } from '../support/deferred.js';
import { describeWith } from '../support/describe-backend.js';
import { receivedIds } from '../support/message-ids.js';
import { PostgresServer } from '../support/postgres-server.js';
import type { Receiver } from '../support/receiver.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';
import { Shop } from './outbox-stage.js';

/** Maximum number of messages that a job holds for one destination. */
const ROWS_OF_A_JOB = 200;
const ROWS = 'SELECT message::jsonb AS message FROM nestjs_analytics.outbox';

describeWith('postgres', PostgresServer.installed, 'an outbox during a deploy', () => {
  const stage = new Stage();
  let server: PostgresServer;
  let shop: Shop;
  let crm: Receiver;
  let lake: Receiver;

  beforeAll(async () => {
    server = await PostgresServer.create();
  });
  beforeEach(async () => {
    shop = await stage.add(Shop.open(await server.createDatabase()));
    crm = await stage.receiver();
    lake = await stage.receiver();
  });
  afterAll(() => server.dispose());

  /** Starts a version of the application with these destinations. */
  function start(ids: ('crm' | 'lake')[], options: Partial<AppOptions> = {}): Promise<AnalyticsApp> {
    return stage.app({
      connection: shop.url,
      webhooks: ids.map((id) => webhooksTo(id === 'crm' ? crm : lake, { id })),
      unknownJobTimeout: 20_000,
      outbox: { connection: shop.url, migrate: true },
      ...options,
    });
  }

  /** Commits events in one transaction, so that a relay moves them together. */
  async function payTogether(app: AnalyticsApp, count: number): Promise<void> {
    const client = await shop.pool.connect();
    await client.query('BEGIN');
    for (let n = 0; n < count; n++)
      await app.analytics.within(client).track({ userId: 'u1', event: 'Order Completed' });
    await client.query('COMMIT');
    client.release();
  }

  async function moved(): Promise<void> {
    await until(async () => ((await shop.rows(ROWS)).length === 0 ? true : undefined));
  }

  it('loses nothing for a destination that the relay does not know yet', async () => {
    const producer = await start(['crm', 'lake'], { worker: false });
    const old = await start(['crm']);
    const forBoth = await shop.pay(producer);
    const forOne = await producer.analytics
      .within(shop.pool)
      .track({ userId: 'u1', event: 'For one', integrations: { crm: false } });
    await moved();
    await crm.received(1);
    await old.log.line(/This process has no destination with the id "lake"/);
    await old.close();
    const app = await start(['crm', 'lake']);
    await until(() => (receivedIds(lake).length === 2 ? true : undefined));
    await app.settled();
    expect(receivedIds(lake)).toEqual([forBoth, forOne].sort());
    expect(receivedIds(crm)).toEqual([forBoth]);
  });

  it('moves no row twice if a process queues some rows and is closed before it can queue the rest', async () => {
    const old = await start(['crm'], { shutdownTimeout: 2_000 });
    const queue = old.context.get(BatchQueue);
    const add = queue.add.bind(queue);
    const asked = deferred();
    let jobs = 0;
    Object.assign(queue, {
      add: (added: readonly NewJob[]) => {
        if (++jobs === 1) return add(added);
        asked.resolve();
        // Like a queue that hangs.
        return new Promise(() => undefined);
      },
    });
    await payTogether(old, ROWS_OF_A_JOB + 50);
    await asked.promise;
    await old.close();
    // So many newer rows that a relay claims only some of the older rows together with them.
    const producer = await start(['crm'], { worker: false });
    await payTogether(producer, 350);
    const app = await start(['crm']);
    await moved();
    await app.settled();
    await until(() => (receivedIds(crm).length === ROWS_OF_A_JOB + 400 ? true : undefined));
    expect(crm.requests).toHaveLength(ROWS_OF_A_JOB + 400);
  });

  it('sends nothing to another application’s destination with the same id', async () => {
    const foreign = await stage.receiver();
    const producer = await start(['crm', 'lake'], { worker: false });
    const old = await start(['crm']);
    const messageId = await shop.pay(producer);
    await moved();
    await old.close();
    const other = await stage.app({
      connection: shop.url,
      writeKey: 'wk_other',
      webhooks: webhooksTo(foreign, { id: 'lake' }),
      unknownJobTimeout: 20_000,
    });
    await other.log.line(/a destination with the id "lake", but not the one/);
    await start(['crm', 'lake']);
    await lake.received(1);
    expect(receivedIds(lake)).toEqual([messageId]);
    expect(foreign.requests).toEqual([]);
  });

  it('loses nothing from a source that the relay has not connected yet', async () => {
    const sources = ['web', 'app'].map((name) => ({ name, writeKey: name }));
    const producer = await start(['crm'], { sources, worker: false });
    await start([], { sources, webhooks: webhooksTo(crm, { id: 'crm', sources: ['web'] }) });
    const messageId = await producer.analytics
      .source('app')
      .within(shop.pool)
      .track({ userId: 'u1', event: 'E' });
    await crm.received(1);
    expect(receivedIds(crm)).toEqual([messageId]);
  });

  it('keeps messages for a removed destination as failed', async () => {
    const before = await start(['crm', 'lake'], { worker: false });
    const messageId = await shop.pay(before);
    await before.close();
    const app = await start(['crm'], { unknownJobTimeout: 0 });
    await crm.received(1);
    const [job] = await app.failedJobs();
    expect(job?.failedReason).toMatch(/^DESTINATION_NOT_FOUND: /);
    expect(receivedIds(crm)).toEqual([messageId]);
  });

  it('does not name the destinations of a tenant in a row; the relay looks them up', async () => {
    const options = { destinations: { allowPrivateNetwork: true, encryptionKey: '0'.repeat(64) } };
    const producer = await start(['crm'], { ...options, worker: false });
    const destinations = producer.context.get(DestinationsService);
    await destinations
      .create({ tenant: 'acme', urls: [lake.url('/gone')] })
      .then(({ id }) => destinations.delete(id));
    await destinations.create({ tenant: 'acme', urls: [lake.url('/acme')] });
    const messageId = await shop.pay(producer, { tenant: 'acme' });
    expect(await shop.rows(ROWS)).toMatchObject([{ message: { meantFor: ['crm'] } }]);
    await start(['crm'], options);
    await Promise.all([crm.received(1), lake.received(1)]);
    expect([receivedIds(crm), receivedIds(lake)]).toEqual([[messageId], [messageId]]);
    expect(lake.requests.map(({ url }) => url)).toEqual(['/acme']);
  });

  it('leaves a row whose tenant may have destinations to a process that looks them up', async () => {
    const options = { destinations: { allowPrivateNetwork: true, encryptionKey: '0'.repeat(64) } };
    const producer = await start(['crm'], { ...options, worker: false });
    await producer.context.get(DestinationsService).create({ tenant: 'acme', urls: [lake.url('/acme')] });
    const messageId = await shop.pay(producer, { tenant: 'acme' });
    const old = await start(['crm']);
    await until(async () => {
      const rows = await shop.rows(
        `SELECT id FROM nestjs_analytics.outbox WHERE problem LIKE '%at run time%'`,
      );
      return rows.length === 1 ? true : undefined;
    });
    await old.close();
    expect(crm.requests).toEqual([]);
    await start(['crm'], options);
    await Promise.all([crm.received(1), lake.received(1)]);
    expect([receivedIds(crm), receivedIds(lake)]).toEqual([[messageId], [messageId]]);
  });

  it.each(['webhooks', 'an endpoint'] as const)(
    'leaves rows that were written for %s to processes that make the same bodies',
    async (kind) => {
      const toEndpoint = { webhooks: undefined, endpoint: lake.url().slice(0, -1) };
      const [writes, other] = kind === 'webhooks' ? [{}, toEndpoint] : [toEndpoint, {}];
      const producer = await start(['crm'], { ...writes, worker: false });
      const messageId = await shop.pay(producer);
      const foreign = await start(['crm'], other);
      await until(async () => {
        const rows = await shop.rows(
          `SELECT id FROM nestjs_analytics.outbox WHERE problem LIKE '%a change between%'`,
        );
        return rows.length === 1 ? true : undefined;
      });
      await foreign.close();
      expect([crm.requests, lake.requests]).toEqual([[], []]);
      await start(['crm'], writes);
      const receiver = kind === 'webhooks' ? crm : lake;
      await receiver.received(1);
      expect(receiver.requests[0]?.body.includes(messageId)).toBe(true);
    },
  );

  it('leaves a row of an unknown source to others from its first look on, however old the row is', async () => {
    const app = await start(['crm'], { unknownJobTimeout: 1_000 });
    await shop.rows(
      `INSERT INTO nestjs_analytics.outbox (version, source, message, created_at)
       VALUES (1, 'other', '{}', now() - interval '1 hour')`,
    );
    const look = (): Promise<{ problem: string | null; due: string }[]> =>
      shop.rows(`SELECT problem, due_at::text AS due FROM nestjs_analytics.outbox`);
    const [first] = await until(async () => {
      const rows = await look();
      return rows[0]?.problem == null ? undefined : rows;
    });
    expect(first?.problem).toMatch(
      /^left to other processes since an age of 36\d{5} ms, read again at 36\d{5} ms: its source is unknown$/,
    );
    expect(first?.due).not.toBe('infinity');
    expect(app.log.analytics).toEqual([]);
    const last = await until(async () => {
      // Makes the row due, as if its pause were over.
      await shop.rows(`UPDATE nestjs_analytics.outbox SET due_at = now() WHERE due_at < 'infinity'`);
      const [row] = await look();
      return row?.due === 'infinity' ? row : undefined;
    });
    expect(last.problem).toBe('its source is unknown');
    await app.log.line(/is set aside: its source is unknown/);
  });

  it.each([
    ['', ', read again at 10000 ms'],
    [' that an older version has noted', ''],
  ])('does not count time in which nobody could read a row%s', async (_, readAgain) => {
    await (await start(['crm'], { worker: false })).close();
    await shop.rows(
      `INSERT INTO nestjs_analytics.outbox (version, source, message, created_at, problem)
       VALUES (1, 'other', '{}', now() - interval '1 hour',
         'left to other processes since an age of 5000 ms${readAgain}: its source is unknown')`,
    );
    await start(['crm'], { unknownJobTimeout: 600_000 });
    const due = await until(async () => {
      const [row] = await shop.rows<{ due: string }>(
        `SELECT due_at::text AS due FROM nestjs_analytics.outbox WHERE due_at > clock_timestamp() + interval '1 hour'
         OR problem LIKE '%read again at 36%'`,
      );
      return row?.due;
    });
    expect(due).not.toBe('infinity');
  });

  it('moves rows of a version that named no destinations like its own rows', async () => {
    const producer = await start(['crm'], { worker: false });
    const messageId = await shop.pay(producer);
    await shop.rows(
      `UPDATE nestjs_analytics.outbox SET message = (message::jsonb - 'meantFor' - 'marks')::text`,
    );
    await start(['crm', 'lake']);
    await Promise.all([crm.received(1), lake.received(1)]);
    expect([receivedIds(crm), receivedIds(lake)]).toEqual([[messageId], [messageId]]);
  });
});

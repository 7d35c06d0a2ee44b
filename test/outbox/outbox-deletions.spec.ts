import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { AnalyticsMessage, AnalyticsService } from '../../src/index.js';
import type { AnalyticsApp, AppOptions } from '../support/analytics-app.js';
import { deferred } from '../support/deferred.js';
import { describeWith } from '../support/describe-backend.js';
import { PostgresServer } from '../support/postgres-server.js';
import { queuedMessages } from '../support/queued-messages.js';
import { messageIn } from '../support/received-message.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';
import { DamagedTable } from '../stored-destinations/damaged-table.js';
import { Shop } from './outbox-stage.js';

const ROWS = 'SELECT destinations FROM nestjs_analytics.outbox';
const ownerOfDeletions =
  (tenant: string) =>
  ({ type }: AnalyticsMessage): string | undefined =>
    type === 'delete' ? tenant : undefined;
/** Retry window with a first retry after a few seconds: a message that is put back stays so during a test. */
const SLOW = 4 * 60 * 60 * 1_000;

describeWith('postgres', PostgresServer.installed, 'the deletion of a user in a transaction', () => {
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

  function start(options: Partial<AppOptions>): Promise<AnalyticsApp> {
    return stage.app({
      connection: shop.url,
      outbox: { connection: shop.url, migrate: true },
      ...options,
    });
  }

  /** Returns the users of the tracked messages that the queue retries or keeps as failed. */
  async function usersIn(app: AnalyticsApp): Promise<string[]> {
    const jobs = await app.queue.getJobs(['delayed', 'failed']);
    return queuedMessages(...jobs)
      .map(({ body }) => /"type":"track","userId":"(\w+)"/.exec(body)?.[1] ?? '')
      .filter((user) => user !== '')
      .sort();
  }

  function users(app: AnalyticsApp, wanted: string): Promise<boolean> {
    return until(async () => (await usersIn(app)).join() === wanted || undefined);
  }

  it('removes the user’s messages even if no destination takes the deletion', async () => {
    const app = await start({ webhooks: webhooksTo(await stage.receiver({ answer: [404] })) });
    for (const userId of ['gone', 'stays']) app.analytics.track({ userId, event: 'Refused' });
    await users(app, 'gone,stays');
    await app.analytics.within(shop.pool).delete({ userId: 'gone', integrations: { Webhooks: false } });
    await users(app, 'stays');
    await until(async () => (await shop.rows(ROWS)).length === 0 || undefined);
  });

  it('does not affect users with the same id of other tenants and sources', async () => {
    const app = await start({
      sources: ['web', 'shop'].map((name) => ({ name, writeKey: name })),
      webhooks: webhooksTo(await stage.receiver({ answer: [404] })),
    });
    const { analytics } = app;
    const acme = analytics.source('web').tenant('acme');
    for (const client of [
      acme,
      analytics.source('web').tenant('beta'),
      analytics.source('shop').tenant('acme'),
    ]) {
      client.track({ userId: 'same', event: 'Refused' });
    }
    await users(app, 'same,same,same');
    await acme.within(shop.pool).delete({ userId: 'same' });
    await users(app, 'same,same');
    await analytics.tenant('acme').within(shop.pool).delete({ userId: 'same' });
    await users(app, 'same');
    await analytics.within(shop.pool).delete({ userId: 'same' });
    await users(app, '');
  });

  it('covers the messages of all tenants if it names none, even if each source has its own tenant', async () => {
    const app = await start({
      sources: ['acme', 'beta'].map((name) => ({ name, writeKey: name, tenant: name })),
      webhooks: webhooksTo(await stage.receiver({ answer: [404] })),
    });
    const { analytics } = app;
    for (const client of [analytics, analytics.source('beta'), analytics.tenant('other')]) {
      client.track({ userId: 'gone', event: 'Refused' });
    }
    await users(app, 'gone,gone,gone');
    await analytics.source('beta').within(shop.pool).delete({ userId: 'gone' });
    await users(app, 'gone,gone');
    await analytics.within(shop.pool).delete({ userId: 'gone' });
    await users(app, '');
  });

  it('removes the user’s messages while its destination is full, which makes room for the deletion', async () => {
    const receiver = await stage.receiver({ answer: [503] });
    const app = await start({
      webhooks: webhooksTo(receiver, { backlogLimit: 2, retryWindow: SLOW }),
    });
    for (const userId of ['gone', 'stays']) app.analytics.track({ userId, event: 'Retried' });
    await users(app, 'gone,stays');
    await app.analytics.within(shop.pool).delete({ userId: 'gone' });
    await users(app, 'stays');
    await until(async () => (await shop.rows(ROWS)).length === 0 || undefined);
  });

  it('removes the user’s messages while its destinations cannot be looked up', async () => {
    const app = await start({
      webhooks: webhooksTo(await stage.receiver({ answer: [404] })),
      destinations: {
        store: new DamagedTable(),
        tenant: ownerOfDeletions('damaged'),
        allowPrivateNetwork: true,
      },
    });
    for (const userId of ['gone', 'stays']) app.analytics.track({ userId, event: 'Refused' });
    await users(app, 'gone,stays');
    await app.analytics.within(shop.pool).delete({ userId: 'gone' });
    await users(app, 'stays');
    expect(await shop.rows(ROWS)).toHaveLength(1);
  });

  it('is left to the next application if the application closes while the row is read', async () => {
    const answer = deferred();
    const options = {
      webhooks: webhooksTo(await stage.receiver({ answer: [404] })),
      destinations: {
        store: {
          findByTenant: async (tenant: string | undefined) => {
            if (tenant === 'slow') await answer.promise;
            return [];
          },
          findById: () => Promise.resolve(undefined),
        },
        tenant: ownerOfDeletions('slow'),
        allowPrivateNetwork: true,
      },
    };
    const app = await start(options);
    for (const userId of ['gone', 'stays']) app.analytics.track({ userId, event: 'Refused' });
    await users(app, 'gone,stays');
    const { analytics } = app;
    await analytics.within(shop.pool).delete({ userId: 'gone' });
    const claimed = `${ROWS} WHERE due_at > '-infinity'`;
    await until(async () => (await shop.rows(claimed)).length === 1 || undefined);
    const closed = app.close();
    // From this moment on, the application stores nothing more.
    await until(() => isClosed(analytics) || undefined);
    answer.resolve();
    await closed;
    await users(await start(options), 'stays');
  });

  it('does not affect later messages of the user, even if a full destination gets the deletion after them', async () => {
    let isOpen = false;
    const slow = await stage.receiver({ answer: () => (isOpen ? 200 : 503) });
    const app = await start({
      webhooks: [
        webhooksTo(slow, { id: 'slow', backlogLimit: 1 }),
        webhooksTo(await stage.receiver({ answer: [404] }), { id: 'refusing' }),
      ],
    });
    app.analytics.track({ userId: 'first', event: 'Retried', integrations: { refusing: false } });
    await slow.received(1);
    await app.analytics.within(shop.pool).delete({ userId: 'again' });
    await until(async () => {
      const [row] = await shop.rows<{ destinations: string[] | null }>(ROWS);
      return row?.destinations?.join() === 'slow' || undefined;
    });
    const integrations = { slow: false };
    for (const userId of ['again', 'other']) app.analytics.track({ userId, event: 'Refused', integrations });
    await users(app, 'again,first,other');
    isOpen = true;
    await until(() => slow.requests.some((request) => messageIn(request).type === 'delete') || undefined);
    await until(async () => (await shop.rows(ROWS)).length === 0 || undefined);
    // Deletions are carried out in their order.
    app.analytics.delete({ userId: 'other' });
    await until(async () => ((await usersIn(app)).includes('other') ? undefined : true));
    expect(await usersIn(app)).toEqual(['again']);
  });
});

function isClosed(analytics: AnalyticsService): boolean {
  try {
    analytics.usage();
    return false;
  } catch {
    return true;
  }
}

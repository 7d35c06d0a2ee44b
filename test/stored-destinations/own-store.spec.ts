import { beforeEach, expect, it } from '@jest/globals';
import { DeliveriesService, DestinationsService } from '../../src/index.js';
import type { DestinationRecord, DestinationStore } from '../../src/options/destination-store.js';
import type { AnalyticsApp, AppOptions } from '../support/analytics-app.js';
import { describeAnyServer } from '../support/describe-backend.js';
import { eventsIn } from '../support/received-message.js';
import type { Receiver } from '../support/receiver.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';

/** A table of the application, in a database that may go away. */
class HookTable implements DestinationStore {
  readonly rows: DestinationRecord[] = [];
  /** How queries end. */
  fate: 'answered' | 'throws' | 'hangs' = 'answered';
  /** Time until the answer to a query arrives, in milliseconds. */
  delay = 0;
  /** Whether queries leave out the column of the tenant. */
  omitsTenant = false;

  findByTenant(tenant: string | undefined): Promise<DestinationRecord[]> {
    return this.query(() => this.rows.filter((row) => row.tenant === tenant).map(this.selected));
  }

  findById(id: string): Promise<DestinationRecord | undefined> {
    return this.query(() => this.rows.filter((row) => row.id === id).map(this.selected)[0]);
  }

  private readonly selected = (row: DestinationRecord): DestinationRecord =>
    this.omitsTenant ? { ...row, tenant: undefined } : row;

  private async query<T>(read: () => T): Promise<T> {
    if (this.fate === 'hangs') await new Promise(() => undefined);
    if (this.fate === 'throws') throw new Error('connect ECONNREFUSED');
    const found = read();
    if (this.delay > 0) await new Promise((resolve) => setTimeout(resolve, this.delay));
    return found;
  }
}

describeAnyServer("destinations in the application's own store", (backend) => {
  const stage = new Stage();
  let table: HookTable;
  let customer: Receiver;
  let own: Receiver;
  let isDown: boolean;

  beforeEach(async () => {
    table = new HookTable();
    isDown = false;
    customer = await stage.receiver({ answer: () => (isDown ? 503 : 200) });
    own = await stage.receiver();
    table.rows.push({ id: 'hook', tenant: 'acme', urls: [customer.url()] });
  });

  function start(options: AppOptions = {}): Promise<AnalyticsApp> {
    return stage.app({
      connection: backend.connection,
      webhooks: webhooksTo(own),
      sources: ['web', 'jobs'].map((name) => ({ name, writeKey: name })),
      destinations: { store: table, allowPrivateNetwork: true },
      flushAt: 1,
      ...options,
    });
  }

  function track(app: AnalyticsApp, event: string): void {
    app.analytics.tenant('acme').track({ userId: 'u1', event });
  }

  it('wait while the store throws or hangs, and get all of their messages when it is back', async () => {
    // A process that has never seen the destination has to find it by its id for messages in the queue.
    isDown = true;
    const before = await start();
    track(before, 'queued');
    await customer.received(1);
    await before.close();
    isDown = false;
    customer.requests.length = 0;

    table.fate = 'throws';
    const app = await start();
    track(app, 'tracked meanwhile');
    app.analytics.tenant('nobody').track({ userId: 'u1', event: 'of a tenant without destinations' });
    await app.log.line(/Destinations cannot be looked up, and messages wait/);
    await app.log.line(/Cannot deliver to the destination "hook" now, so its messages wait/);
    table.fate = 'hangs';
    await app.log.line(/"hook" now, .*did not answer within 5 seconds.* \(DESTINATION_STORE_TIMEOUT\)\.$/);
    expect(await app.analytics.flush({ timeout: 0 })).toMatchObject({ pending: 2, refused: 0 });
    expect(customer.requests).toHaveLength(0);

    table.fate = 'answered';
    await customer.received(2);
    await app.analytics.flush();
    await app.settled();
    expect(eventsIn(customer.requests)).toEqual(['queued', 'tracked meanwhile']);
    const all = ['of a tenant without destinations', 'queued', 'tracked meanwhile'];
    expect(eventsIn(own.requests)).toEqual(all);
    await app.log.line(/can be looked up again/);
    expect(await app.context.get(DeliveriesService).counts()).toMatchObject({ failed: 0 });
    expect(app.analytics.usage()).toEqual({ received: 2, filtered: 0 });
  });

  it.each([
    { names: 'their tenant', tenant: 'acme', omitsTenant: false },
    { names: 'their tenant, which their records omit', tenant: 'acme', omitsTenant: true },
    { names: 'no tenant', tenant: undefined, omitsTenant: false },
  ])('get messages kept while they were disabled after a change that names $names', async (change) => {
    const { tenant, omitsTenant } = change;
    table.omitsTenant = omitsTenant;
    isDown = true;
    const app = await start();
    const destinations = app.context.get(DestinationsService);
    const deliveries = app.context.get(DeliveriesService);
    const set = async (enabled: boolean): Promise<void> => {
      table.rows.splice(0, 1, { id: 'hook', tenant: 'acme', urls: [customer.url()], enabled });
      await destinations.changed(tenant);
    };
    track(app, 'kept');
    await customer.received(1);
    await set(false);
    await until(async () =>
      (await deliveries.countFailed({ destination: 'hook' })) === 1 ? true : undefined,
    );
    isDown = false;
    await set(true);
    await customer.received(2);
    expect(eventsIn(customer.requests)).toEqual(['kept', 'kept']);
  });

  it('have their messages fail for good while their fields are wrong, to be replayed after a correction', async () => {
    const app = await start();
    const destinations = app.context.get(DestinationsService);
    const deliveries = app.context.get(DeliveriesService);
    const [valid] = table.rows;
    table.rows.splice(0, 1, { id: 'hook', tenant: 'acme', urls: ['ftp://files.test', 'nonsense'] });
    const wrong = { destination: 'hook', error: 'INVALID_DESTINATION' };
    for (const event of ['one', 'two']) track(app, event);
    await until(async () => ((await deliveries.countFailed(wrong)) === 2 ? true : undefined));
    await app.settled();
    await app.log.line(
      /^error: The destination "hook" has wrong fields(.|\n)*urls\[0\](.|\n)*urls\[1\].* \(INVALID_DESTINATION\)$/,
    );
    const known = await until(async () => {
      const recent = await deliveries.recent({ destination: 'hook' });
      return recent.length === 2 ? recent : undefined;
    });
    expect(known).toMatchObject([1, 2].map(() => ({ state: 'failed', error: 'INVALID_DESTINATION' })));

    expect(await deliveries.replay()).toBe(0);
    await expect(deliveries.replay(wrong)).rejects.toMatchObject({ code: 'INVALID_DESTINATION' });
    expect(await deliveries.countFailed(wrong)).toBe(2);

    table.rows.splice(0, 1, ...(valid === undefined ? [] : [valid]));
    await destinations.changed('acme');
    expect(await deliveries.replay(wrong)).toBe(2);
    await customer.received(2);
    expect(eventsIn(customer.requests)).toEqual(['one', 'two']);
    expect(eventsIn(own.requests)).toEqual(['one', 'two']);
  });

  it('get nothing while `enabled` is a text, which would always count as enabled', async () => {
    const app = await start();
    for (const row of table.rows) Object.assign(row, { enabled: 'false' });
    track(app, 'kept');
    await app.log.line(/^error: The destination "hook" has wrong fields(.|\n)*enabled(.|\n)*a boolean/);
    await app.settled();
    const wrong = { destination: 'hook', error: 'INVALID_DESTINATION' };
    expect(await app.context.get(DeliveriesService).countFailed(wrong)).toBe(1);
    expect(customer.requests).toEqual([]);
  });

  it('do not keep messages from other destinations if their selection is wrong', async () => {
    const app = await start();
    const deliveries = app.context.get(DeliveriesService);
    // A JSON column of a database may hold anything, which the compiler does not see.
    const selections: Partial<Record<string, unknown>>[] = [
      { events: ['Order *', null] },
      { events: 'Order *' },
      { sources: [7, 'web'] },
    ];
    for (const [n, selection] of selections.entries()) {
      table.rows.push({
        id: `wrong-${n}`,
        tenant: 'acme',
        urls: [own.url('/wrong')],
        ...selection,
      });
    }
    track(app, 'Order Completed');
    await Promise.all([customer.received(1), own.received(1)]);
    await until(async () => {
      const failed = await deliveries.countFailed({ error: 'INVALID_DESTINATION' });
      return failed === selections.length ? true : undefined;
    });
    await app.log.line(
      /^error: The destination "wrong-0" has wrong fields(.|\n)*`events\[1\]`: expected a string/,
    );
    expect(own.requests.map(({ url }) => url)).not.toContain('/wrong');
  });

  it('get nothing by outdated fields, and do not hold up other messages, while the store hangs', async () => {
    const app = await start();
    track(app, 'before');
    await customer.received(1);
    const moved = await stage.receiver();
    table.rows.splice(0, 1, { id: 'hook', tenant: 'acme', urls: [moved.url()] });
    table.fate = 'hangs';
    await app.context.get(DestinationsService).changed('acme');
    track(app, 'after');
    app.analytics.source('jobs').track({ userId: 'u1', event: 'of no tenant' });
    await own.received(2);
    expect(eventsIn(own.requests)).toEqual(['before', 'of no tenant']);
    await app.log.line(/Destinations cannot be looked up, .* \(DESTINATION_STORE_TIMEOUT\)\.$/);
    table.fate = 'answered';
    await moved.received(1);
    expect(eventsIn(moved.requests)).toEqual(['after']);
    expect(customer.requests).toHaveLength(1);
  });

  it('get their messages while destinations of one tenant change all the time', async () => {
    const other = await stage.receiver();
    table.rows.push({ id: 'other-hook', tenant: 'other', urls: [other.url()] });
    table.delay = 100;
    const app = await start();
    const destinations = app.context.get(DestinationsService);
    const changing = setInterval(() => void destinations.changed('acme'), 20);
    const close = (): Promise<void> => {
      clearInterval(changing);
      return Promise.resolve();
    };
    await stage.add(Promise.resolve({ close }));
    app.analytics.tenant('other').track({ userId: 'u1', event: 'of another tenant' });
    track(app, 'of the same');
    await other.received(1);
    await customer.received(1);
    expect([...eventsIn(other.requests), ...eventsIn(customer.requests)]).toEqual([
      'of another tenant',
      'of the same',
    ]);
  });

  it('do not keep the application from closing while the store hangs, and lost messages are logged', async () => {
    const app = await start({ shutdownTimeout: 500 });
    track(app, 'before');
    await customer.received(1);
    table.fate = 'hangs';
    await app.context.get(DestinationsService).changed('acme');
    track(app, 'unrouted');
    await app.close();
    expect(await app.log.line(/1 message was lost/)).toContain('destination not looked up yet: 1');
  });
});

import { beforeEach, expect, it } from '@jest/globals';
import type { DestinationRecord, DestinationStore } from '../../src/options/destination-store.js';
import type { AnalyticsApp } from '../support/analytics-app.js';
import { describeAnyServer } from '../support/describe-backend.js';
import { eventsIn } from '../support/received-message.js';
import type { Receiver } from '../support/receiver.js';
import { Stage, webhooksTo } from '../support/stage.js';

/** A table whose rows are as a database library returns them. */
class HookTable implements DestinationStore {
  readonly rows: (Omit<DestinationRecord, 'id' | 'tenant'> & { id?: unknown; tenant?: unknown })[] = [];

  findByTenant(tenant: string | undefined): Promise<DestinationRecord[]> {
    return this.query(({ tenant: owner }) => String(owner) === tenant);
  }

  async findById(id: string): Promise<DestinationRecord | undefined> {
    const [found] = await this.query((row) => String(row.id) === id);
    return found;
  }

  private query(isMeant: (row: HookTable['rows'][number]) => boolean): Promise<DestinationRecord[]> {
    return Promise.resolve(this.rows.filter(isMeant) as unknown as DestinationRecord[]);
  }
}

describeAnyServer("the id of a destination in the application's own store", (backend) => {
  const stage = new Stage();
  let table: HookTable;
  let customer: Receiver;
  let own: Receiver;

  beforeEach(async () => {
    table = new HookTable();
    customer = await stage.receiver();
    own = await stage.receiver();
  });

  function start(): Promise<AnalyticsApp> {
    return stage.app({
      connection: backend.connection,
      webhooks: webhooksTo(own, { id: 'own' }),
      destinations: { store: table, allowPrivateNetwork: true },
      flushAt: 1,
    });
  }

  it.each([
    { kind: 'a number', id: 7, tenant: 42 },
    { kind: 'a `bigint`', id: 7n, tenant: 42n },
  ])('may be $kind, as its tenant may', async ({ id, tenant }) => {
    table.rows.push({ id, tenant, urls: [customer.url()] });
    const app = await start();
    app.analytics.tenant('42').track({ userId: 'u1', event: 'E' });
    await app.settled();
    expect(eventsIn(await customer.received(1))).toEqual(['E']);
    expect(eventsIn(await own.received(1))).toEqual(['E']);
  });

  it.each([
    { kind: 'missing', id: undefined, text: 'got undefined' },
    { kind: 'empty', id: '', text: 'got an empty string' },
    { kind: 'an object', id: { key: 7 }, text: 'got an object' },
    { kind: 'a text with a NUL character', id: 'a\0b', text: 'got a string' },
    { kind: 'the id of a destination in the options', id: 'own', text: 'has the id "own"' },
  ])('costs only that destination its messages if it is $kind, in one line', async ({ id, text }) => {
    table.rows.push({ id, tenant: 'acme', urls: [customer.url('/wrong')] });
    table.rows.push({ id: 'right', tenant: 'acme', urls: [customer.url('/right')] });
    const app = await start();
    for (const event of ['one', 'two']) {
      app.analytics.tenant('acme').track({ userId: 'u1', event });
      await app.analytics.flush();
    }
    await app.settled();
    expect(customer.requests.map(({ url }) => url)).toEqual(['/right', '/right']);
    expect(eventsIn(own.requests).sort()).toEqual(['one', 'two']);
    expect(app.log.analytics.filter((line) => line.includes('in your own store'))).toEqual([
      expect.stringContaining(text),
    ]);
  });
});

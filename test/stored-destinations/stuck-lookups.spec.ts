import { expect, it } from '@jest/globals';
import type { DestinationRecord, DestinationStore } from '../../src/options/destination-store.js';
import type { AnalyticsApp, AppOptions } from '../support/analytics-app.js';
import { describeAnyServer } from '../support/describe-backend.js';
import { eventsIn } from '../support/received-message.js';
import { Stage } from '../support/stage.js';

const STUCK = Array.from({ length: 80 }, (_, n) => `h${n + 1}`);

/** Tables of the application, one of which hangs and holds the destinations of many tenants. */
class ShardedTables implements DestinationStore {
  readonly rows: DestinationRecord[] = [];
  hanging: keyof DestinationStore | undefined;

  async findByTenant(tenant: string | undefined): Promise<DestinationRecord[]> {
    if (this.hanging === 'findByTenant') await this.hang(tenant);
    return this.rows.filter((row) => row.tenant === tenant);
  }

  async findById(id: string): Promise<DestinationRecord | undefined> {
    if (this.hanging === 'findById') await this.hang(id);
    return this.rows.find((row) => row.id === id);
  }

  private hang(name = ''): Promise<unknown> | undefined {
    return name.startsWith('h') ? new Promise(() => undefined) : undefined;
  }
}

describeAnyServer('eighty tenants whose look-ups never end', (backend) => {
  const stage = new Stage();

  function start(store: DestinationStore, options: AppOptions = {}): Promise<AnalyticsApp> {
    const destinations = { store, allowPrivateNetwork: true };
    // Messages that cannot be looked up are lost when the test ends.
    return stage.app({
      connection: backend.connection,
      destinations,
      flushAt: 1,
      shutdownTimeout: 1_000,
      ...options,
    });
  }

  function track(app: AnalyticsApp, tenants: readonly string[]): void {
    for (const tenant of tenants) app.analytics.tenant(tenant).track({ userId: 'u1', event: tenant });
  }

  it.each(['findByTenant', 'findById'] as const)(
    'do not hold up a tenant that is looked up after them by `%s`, then or later',
    async (method) => {
      const receiver = await stage.receiver();
      const table = new ShardedTables();
      for (const id of [...STUCK, 'ok', 'ok2']) table.rows.push({ id, tenant: id, urls: [receiver.url()] });
      if (method === 'findById') {
        // All messages are in the queue when a worker starts that knows none of the destinations.
        const before = await start(table, { worker: false });
        track(before, [...STUCK, 'ok']);
        expect(await before.analytics.flush()).toMatchObject({ queued: STUCK.length + 1 });
        await before.close();
      }
      table.hanging = method;
      const app = await start(table);
      if (method === 'findByTenant') track(app, [...STUCK, 'ok']);
      await receiver.received(1);
      track(app, ['ok2']);
      await receiver.received(2);
      expect(eventsIn(receiver.requests)).toEqual(['ok', 'ok2']);
    },
    // At eight look-ups at a time, the test would take fifty seconds.
    20_000,
  );
});

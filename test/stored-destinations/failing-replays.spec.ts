import { beforeEach, expect, it } from '@jest/globals';
import { DeliveriesService, DestinationsService } from '../../src/index.js';
import type { DestinationRecord, DestinationStore } from '../../src/options/destination-store.js';
import type { AnalyticsApp } from '../support/analytics-app.js';
import { describeAnyServer } from '../support/describe-backend.js';
import { eventsIn } from '../support/received-message.js';
import type { Receiver } from '../support/receiver.js';
import { Stage } from '../support/stage.js';
import { until } from '../support/until.js';

/** Ids of destinations whose look-ups hang, all of which would take longer than a test one after the other. */
const HANGING = Array.from({ length: 14 }, (_, n) => `h${n + 1}`);
/** More jobs than a tenant gets delivered while others wait. */
const MANY = 650;

/** A table of the application with rows that cannot be read by their ids. */
class BrokenTable implements DestinationStore {
  readonly rows = new Map<string, DestinationRecord>();
  broken: { ids: readonly string[]; fate: 'throws' | 'hangs' } | undefined;
  /** Whether all destinations are disabled between the call and the delivery. */
  isDisabledMeanwhile = false;

  findByTenant(tenant: string | undefined): Promise<DestinationRecord[]> {
    return Promise.resolve([...this.rows.values()].filter((row) => row.tenant === tenant));
  }

  async findById(id: string): Promise<DestinationRecord | undefined> {
    if (this.broken?.ids.includes(id) === true) {
      if (this.broken.fate === 'throws') throw new Error('invalid byte sequence');
      await new Promise(() => undefined);
    }
    const row = this.rows.get(id);
    return row !== undefined && this.isDisabledMeanwhile ? { ...row, enabled: false } : row;
  }
}

describeAnyServer(
  'messages kept for two tenants, one of which has a destination that cannot be looked up',
  (backend) => {
    const stage = new Stage();
    let table: BrokenTable;
    let receivers: Record<'a1' | 'b1', Receiver>;
    let app: AnalyticsApp;

    beforeEach(async () => {
      table = new BrokenTable();
      receivers = { a1: await stage.receiver(), b1: await stage.receiver() };
      for (const id of ['a1', 'b1'] as const) set(id, true);
      table.isDisabledMeanwhile = true;
      const before = await start();
      const deliveries = before.context.get(DeliveriesService);
      // Whether the latest or the first message is read first, a message of A comes before the message of B.
      for (const [index, id] of ['a1', 'b1', 'a1'].entries()) {
        before.analytics.tenant(id.toUpperCase()).track({ userId: 'u1', event: id });
        await until(async () => {
          const kept = await deliveries.countFailed({ error: 'DESTINATION_DISABLED' });
          return kept > index ? true : undefined;
        });
      }
      await before.close();
      table.isDisabledMeanwhile = false;
      for (const id of ['a1', 'b1'] as const) set(id, false);
      app = await start();
    });

    function set(id: 'a1' | 'b1', enabled: boolean): void {
      table.rows.set(id, { id, tenant: id.toUpperCase(), urls: [receivers[id].url()], enabled });
    }

    function start(): Promise<AnalyticsApp> {
      const destinations = { store: table, allowPrivateNetwork: true };
      return stage.app({ connection: backend.connection, destinations, flushAt: 1 });
    }

    it.each(['throws', 'hangs'] as const)(
      'are delivered to the other destination, once it is enabled, while that look-up %s',
      async (fate) => {
        table.broken = { ids: ['a1'], fate };
        set('b1', true);
        await app.context.get(DestinationsService).changed('B1');
        await receivers.b1.received(1);
        expect(receivers.a1.requests).toEqual([]);
      },
      30_000,
    );

    it('are delivered to the first destination, too, once it can be looked up again', async () => {
      table.broken = { ids: ['a1'], fate: 'throws' };
      await app.context.get(DestinationsService).changed('A1');
      await app.log.line(/kept for the destination "a1" while disabled may still be kept.* a look-up failed/);
      set('a1', true);
      table.broken = undefined;
      await receivers.a1.received(2);
      expect(eventsIn(receivers.a1.requests)).toEqual(['a1', 'a1']);
    }, 30_000);

    it('are all replayed except those of that destination, which the error names', async () => {
      const deliveries = app.context.get(DeliveriesService);
      table.broken = { ids: ['a1'], fate: 'throws' };
      set('b1', true);
      await expect(deliveries.replay({ error: 'DESTINATION_DISABLED' })).rejects.toMatchObject({
        code: 'REPLAY_INCOMPLETE',
        replayed: 1,
        destinations: ['a1'],
        cause: new Error('invalid byte sequence'),
      });
      await receivers.b1.received(1);
      table.broken = undefined;
      set('a1', true);
      expect(await deliveries.replay({ error: 'DESTINATION_DISABLED' })).toBe(2);
      await receivers.a1.received(2);
    });
  },
);

describeAnyServer('messages kept for a tenant, and after these very many for others', (backend) => {
  const stage = new Stage();
  let table: BrokenTable;
  let tenant: Receiver;
  let others: Receiver;
  let app: AnalyticsApp;

  beforeEach(async () => {
    table = new BrokenTable();
    table.isDisabledMeanwhile = true;
    [tenant, others] = [await stage.receiver(), await stage.receiver()];
    const destinations = { store: table, allowPrivateNetwork: true };
    app = await stage.app({
      connection: backend.connection,
      destinations,
      flushAt: 1,
      shutdownTimeout: 1_000,
    });
    await keep('tenant', tenant, 1);
  });

  /** Adds a destination with kept messages, one a job. The failed jobs are read newest first. */
  async function keep(id: string, receiver: Receiver, count: number): Promise<void> {
    table.rows.set(id, { id, tenant: id, urls: [receiver.url()] });
    for (let n = 0; n < count; n++) {
      app.analytics.tenant(id).track({ userId: 'u1', event: id });
      await app.analytics.flush();
    }
    const deliveries = app.context.get(DeliveriesService);
    await until(async () =>
      (await deliveries.countFailed({ destination: id })) === count ? true : undefined,
    );
  }

  async function enableAll(): Promise<void> {
    table.isDisabledMeanwhile = false;
    await app.context.get(DestinationsService).changed();
  }

  it('are delivered after a share of the messages of another tenant, once all are enabled', async () => {
    await keep('other', others, MANY);
    await enableAll();
    await tenant.received(1);
    expect(others.requests.length).toBeLessThan(MANY - 50);
    await others.received(MANY);
  });

  it('are delivered at once, however many look-ups of other tenants hang', async () => {
    for (const id of HANGING) await keep(id, others, 1);
    table.broken = { ids: HANGING, fate: 'hangs' };
    await enableAll();
    await tenant.received(1);
    expect(others.requests).toEqual([]);
  }, 60_000);
});

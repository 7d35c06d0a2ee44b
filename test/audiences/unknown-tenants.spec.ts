import { expect, it } from '@jest/globals';
import { AudiencesService } from '../../src/index.js';
import type { AnalyticsApp } from '../support/analytics-app.js';
import { deferred } from '../support/deferred.js';
import { until } from '../support/until.js';
import { describeServersOrEmbedded } from '../support/describe-backend.js';
import { messageIn } from '../support/received-message.js';
import type { Receiver, ReceivedRequest } from '../support/receiver.js';
import { Stage } from '../support/stage.js';
import { DamagedTable } from '../stored-destinations/damaged-table.js';
import { membersOf } from './audiences-on.js';

const REFUSED = { code: 'MESSAGE_REFUSED' };

/** Number of users in one step of a sync. */
const STEP = 1_000;

/** Returns the user and the value of the trait `vip` of each request. */
function told(requests: readonly ReceivedRequest[]): string[] {
  return requests
    .map((request) => messageIn(request))
    .map(({ userId, traits }) => `${String(userId)} ${String(Reflect.get(Object(traits), 'vip'))}`)
    .sort();
}

describeServersOrEmbedded('an audience with users of a tenant that cannot be looked up', (backend) => {
  const stage = new Stage();

  interface Scene {
    app: AnalyticsApp;
    audiences: AudiencesService;
    table: DamagedTable;
    acme: Receiver;
    damaged: Receiver;
  }

  async function scene(): Promise<Scene> {
    const [acme, damaged] = [await stage.receiver(), await stage.receiver()];
    const table = new DamagedTable();
    table.rows.push({ id: 'acme-hook', tenant: 'acme', urls: [acme.url()] });
    table.rows.push({ id: 'damaged-hook', tenant: 'damaged', urls: [damaged.url()] });
    const app = await stage.app({
      connection: backend.connection,
      sources: [
        { name: 'all', writeKey: 'wk_all' },
        { name: 'broken', writeKey: 'wk_broken', tenant: 'damaged' },
      ],
      writeKey: undefined,
      destinations: {
        store: table,
        allowPrivateNetwork: true,
        tenant: (message) => (message.type === 'identify' ? message.userId?.split('@')[1] : undefined),
      },
    });
    return { app, audiences: app.context.get(AudiencesService), table, acme, damaged };
  }

  it('accepts changes for users of other tenants at once, and refuses those for users of this tenant', async () => {
    const { app, audiences, acme } = await scene();
    const refused = Promise.all([
      expect(audiences.add('VIP', 'eve@damaged')).rejects.toMatchObject(REFUSED),
      expect(audiences.add('VIP', 'fay', { source: 'broken' })).rejects.toMatchObject(REFUSED),
    ]);
    expect(await audiences.add('VIP', 'ann@acme', { wait: 1_000 })).toBe(true);
    await refused;
    expect(app.analytics.status().refused).toBe(2);
    expect(told(await acme.received(1))).toEqual(['ann@acme true']);
    expect(await membersOf({ audiences }, 'VIP')).toEqual(['ann@acme']);
  });

  it('is synced for users of other tenants, and for users of this tenant when it can be looked up', async () => {
    const { app, audiences, table, acme, damaged } = await scene();
    const users = ['eve@damaged', 'ann@acme'];
    await expect(audiences.sync('VIP', users)).rejects.toMatchObject(REFUSED);
    expect(app.analytics.status().refused).toBe(1);
    expect(told(await acme.received(1))).toEqual(['ann@acme true']);
    expect(await membersOf({ audiences }, 'VIP')).toEqual(['ann@acme']);

    table.isRepaired = true;
    expect(await audiences.sync('VIP', users)).toEqual({ added: 1, removed: 0, unchanged: 1 });
    expect(told(await damaged.received(1))).toEqual(['eve@damaged true']);
    expect(acme.requests).toHaveLength(1);
  });

  it('is synced for users of this tenant from the first step after it can be looked up again', async () => {
    const { app, audiences, table, damaged } = await scene();
    const repaired = deferred();
    async function* users(): AsyncGenerator<string> {
      for (let n = 0; n < STEP; n++) yield `eve-${n}@damaged`;
      await repaired.promise;
      yield 'fay@damaged';
    }
    const synced = audiences.sync('VIP', users(), {
      onProgress: async () => {
        if (table.isRepaired) return;
        table.isRepaired = true;
        app.analytics.identify({ userId: 'gil@damaged', traits: { vip: 'maybe' } });
        await app.analytics.flush();
        repaired.resolve();
      },
    });
    await expect(synced).rejects.toMatchObject({ ...REFUSED, count: STEP });
    expect(told(await damaged.received(2))).toEqual(['fay@damaged true', 'gil@damaged maybe']);
    expect(await membersOf({ audiences }, 'VIP')).toEqual(['fay@damaged']);
  });

  it('is not synced from a source that is bound to this tenant, but then from another source', async () => {
    const { audiences, acme } = await scene();
    await expect(audiences.sync('VIP', ['eve'], { source: 'broken' })).rejects.toMatchObject(REFUSED);
    expect(await audiences.sync('VIP', ['ann@acme'])).toMatchObject({ added: 1 });
    expect(told(await acme.received(1))).toEqual(['ann@acme true']);
  });

  it('forgets a deleted user of another tenant', async () => {
    const { app, audiences } = await scene();
    await audiences.add('VIP', 'ann@acme');
    const refused = expect(audiences.add('VIP', 'eve@damaged')).rejects.toMatchObject(REFUSED);
    app.analytics.delete({ userId: 'ann@acme' });
    await refused;
    await until(async () => (await membersOf({ audiences }, 'VIP')).length === 0 || undefined);
  });
});

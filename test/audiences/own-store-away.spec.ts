import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { AudiencesService } from '../../src/index.js';
import type { DestinationRecord, DestinationStore } from '../../src/options/destination-store.js';
import { describeAnyServer } from '../support/describe-backend.js';
import { messageIn } from '../support/received-message.js';
import type { Receiver } from '../support/receiver.js';
import { Stage } from '../support/stage.js';
import { membersOf } from './audiences-on.js';

/** Longer than the wait for a tenant's look-up, in milliseconds. */
const OUTAGE = 4_000;
/** More tenants than are looked up at once, even if look-ups take long. */
const STUCK = 60;

/** Tables of the application. The table with the destinations of the tenants `h1`, `h2` and so on hangs. */
class ShardedTables implements DestinationStore {
  readonly rows: DestinationRecord[] = [];
  /** Whether look-ups of tenants fail. */
  isAway = false;
  /** Delay of each answer, in milliseconds. */
  delay = 0;

  async findByTenant(tenant: string | undefined): Promise<DestinationRecord[]> {
    if (this.isAway) throw new Error('the database fails over');
    if (this.delay > 0) await pause(this.delay);
    if (tenant?.startsWith('h') === true) await new Promise(() => undefined);
    return this.rows.filter((row) => row.tenant === tenant);
  }

  findById(id: string): Promise<DestinationRecord | undefined> {
    return Promise.resolve(this.rows.find((row) => row.id === id));
  }
}

describeAnyServer('an audience whose tenants are looked up in a store of the application', (backend) => {
  const stage = new Stage();

  interface Scene {
    audiences: AudiencesService;
    table: ShardedTables;
    receiver: Receiver;
  }

  async function scene(): Promise<Scene> {
    const receiver = await stage.receiver();
    const table = new ShardedTables();
    for (const tenant of ['acme', 'initech']) {
      table.rows.push({ id: `${tenant}-hook`, tenant, urls: [receiver.url()] });
    }
    const app = await stage.app({
      connection: backend.connection,
      shutdownTimeout: 1_000,
      destinations: {
        store: table,
        allowPrivateNetwork: true,
        tenant: ({ userId }) => userId?.split('@')[1],
      },
    });
    return { audiences: app.context.get(AudiencesService), table, receiver };
  }

  async function told(receiver: Receiver, count: number): Promise<unknown[]> {
    return (await receiver.received(count)).map((request) => messageIn(request).userId).sort();
  }

  it('is synced when the store answers again', async () => {
    const { audiences, table, receiver } = await scene();
    table.isAway = true;
    const synced = expect(audiences.sync('VIP', ['ann@acme', 'eve@initech'])).resolves.toMatchObject({
      added: 2,
    });
    await pause(OUTAGE);
    table.isAway = false;
    await synced;
    expect(await told(receiver, 2)).toEqual(['ann@acme', 'eve@initech']);
  }, 60_000);

  it('accepts a single change when the store answers again', async () => {
    const { audiences, table } = await scene();
    table.isAway = true;
    const added = expect(audiences.add('VIP', 'ann@acme')).resolves.toBe(true);
    await pause(OUTAGE);
    table.isAway = false;
    await added;
  }, 60_000);

  it('accepts single changes one after the other, even if each look-up takes longer than `wait`', async () => {
    const { audiences, table } = await scene();
    table.delay = 1_200;
    const users = Array.from({ length: 10 }, (_, n) => `user-${n}@acme`);
    const added = users.map((userId) => audiences.add('VIP', userId, { wait: 1_000 }));
    expect(await Promise.all(added)).toEqual(users.map(() => true));
  });

  it('is synced for a user whose tenant can be looked up, behind many whose tenants cannot', async () => {
    const { audiences, receiver } = await scene();
    const stuck = Array.from({ length: STUCK }, (_, n) => `eve@h${n + 1}`);
    await expect(audiences.sync('VIP', [...stuck, 'ann@acme'])).rejects.toMatchObject({
      code: 'MESSAGE_REFUSED',
      count: STUCK,
    });
    expect(await told(receiver, 1)).toEqual(['ann@acme']);
    expect(await membersOf({ audiences }, 'VIP')).toEqual(['ann@acme']);
  }, 60_000);

  it('is synced without users whose tenant cannot be looked up, even if each answer takes long', async () => {
    const { audiences, table, receiver } = await scene();
    table.delay = 700;
    await expect(audiences.sync('VIP', ['eve@h1', 'ann@acme'])).rejects.toMatchObject({
      code: 'MESSAGE_REFUSED',
      count: 1,
    });
    expect(await told(receiver, 1)).toEqual(['ann@acme']);
  }, 60_000);
});

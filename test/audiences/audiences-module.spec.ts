import { afterAll, describe, expect, it } from '@jest/globals';
import { AudiencesService, DestinationsService } from '../../src/index.js';
import type { OfferResult } from '../../src/options/audience-store.js';
import { openEmbeddedDatabase } from '../../src/queue/embedded/embedded-database.js';
import { PostgresAudienceStore } from '../../src/audiences/stores/postgres-audience-store.js';
import { describeServersOrEmbedded } from '../support/describe-backend.js';
import { EmbeddedFolders } from '../support/embedded-folder.js';
import { MEMORY } from '../support/memory-connection.js';
import { quickConnections } from '../support/quick-connections.js';
import { messageIn } from '../support/received-message.js';
import type { ReceivedRequest } from '../support/receiver.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';
import { membersOf } from './audiences-on.js';
import { MemoryAudienceStore } from '../../src/testing/memory-audience-store.js';

function ids(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `user-${index}`);
}

/** Returns the user and the value of the trait `vip` of each request. */
function userValues(requests: readonly ReceivedRequest[]): string[] {
  return requests
    .map((request) => messageIn(request))
    .map(({ userId, traits }) => `${String(userId)} ${String(Reflect.get(Object(traits), 'vip'))}`)
    .sort();
}

/** Calls `onDoubt` whenever a change, which has asked whether there are destinations, is about to make its calls. */
class InterruptedStore extends MemoryAudienceStore {
  onDoubt: () => Promise<unknown> = () => Promise.resolve();

  override async offer(...entries: Parameters<MemoryAudienceStore['offer']>): Promise<OfferResult> {
    const result = await super.offer(...entries);
    await this.onDoubt();
    return result;
  }

  override async withdraw(...users: Parameters<MemoryAudienceStore['withdraw']>): Promise<string[]> {
    const known = await super.withdraw(...users);
    await this.onDoubt();
    return known;
  }
}

describeServersOrEmbedded('an application with audiences', (backend) => {
  const stage = new Stage();

  it('tells its webhooks who joined and who left, even after a restart', async () => {
    const receiver = await stage.receiver();
    const options = {
      connection: backend.connection,
      webhooks: webhooksTo(receiver, { sharedSecret: 'teehee' }),
    };
    const first = await stage.app(options);
    await first.context.get(AudiencesService).sync('Big Spenders', ['ann', 'bob']);
    await receiver.received(2);
    await first.close();

    const second = await stage.app(options);
    const audiences = second.context.get(AudiencesService);
    expect(await audiences.sync('Big Spenders', ['bob', 'cid'])).toEqual({
      added: 1,
      removed: 1,
      unchanged: 1,
    });
    const requests = await receiver.received(4);
    const told = requests.map((request) => messageIn(request));
    expect(told.map(({ type, userId, traits }) => ({ type, userId, traits }))).toEqual(
      expect.arrayContaining([
        { type: 'identify', userId: 'ann', traits: { big_spenders: true } },
        { type: 'identify', userId: 'bob', traits: { big_spenders: true } },
        { type: 'identify', userId: 'ann', traits: { big_spenders: false } },
        { type: 'identify', userId: 'cid', traits: { big_spenders: true } },
      ]),
    );
    expect(requests).toHaveLength(4);
  });

  it('records nothing while a look-up finds no enabled destination of the tenant', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({
      connection: backend.connection,
      sources: [{ name: 'acme', writeKey: 'wk_acme', tenant: 'acme' }],
      destinations: { allowPrivateNetwork: true },
    });
    const audiences = app.context.get(AudiencesService);
    const destinations = app.context.get(DestinationsService);
    expect(await audiences.sync('All', ['ann'])).toEqual({ added: 0, removed: 0, unchanged: 0 });
    expect(await audiences.list()).toEqual([]);

    const { id } = await destinations.create({ tenant: 'acme', urls: [receiver.url()] });
    expect(await audiences.sync('All', ['ann'])).toMatchObject({ added: 1 });
    await receiver.received(1);
    for (const change of [
      () => audiences.add('All', 'bob'),
      () => audiences.remove('All', 'ann'),
      () => audiences.delete('All').then(() => false),
    ]) {
      // Makes the process forget what it knows about the tenant, so that each change has to look it up.
      await destinations.enable(id);
      await destinations.disable(id);
      expect(await change()).toBe(false);
    }
    await destinations.enable(id);
    expect(await audiences.sync('All', ['ann', 'bob'])).toEqual({ added: 1, removed: 0, unchanged: 1 });
    expect((await receiver.received(2)).map((request) => messageIn(request).userId)).toEqual(['ann', 'bob']);
  });

  it('records no user once the receiver of a running sync is gone, and sends the calls when it is back', async () => {
    let isGone = true;
    const receiver = await stage.receiver({ answer: () => (isGone ? 410 : 200) });
    const app = await stage.app({
      connection: backend.connection,
      destinations: { allowPrivateNetwork: true, encryptionKey: false },
    });
    const audiences = app.context.get(AudiencesService);
    const destinations = app.context.get(DestinationsService);
    const { id } = await destinations.create({ urls: [receiver.url()] });
    async function* users(): AsyncGenerator<string> {
      app.analytics.track({ userId: 'eve', event: 'Left' });
      await until(async () => ((await destinations.get(id)).enabled ? undefined : true));
      yield* ['ann', 'bob'];
    }
    expect(await audiences.sync('VIP', users())).toEqual({ added: 0, removed: 0, unchanged: 0 });
    expect(await membersOf({ audiences }, 'VIP')).toEqual([]);

    isGone = false;
    await destinations.enable(id);
    expect(await audiences.sync('VIP', ['ann', 'bob'])).toEqual({ added: 2, removed: 0, unchanged: 0 });
    const [, ...requests] = await receiver.received(3);
    expect(userValues(requests)).toEqual(['ann true', 'bob true']);
  });

  it('changes nothing if the last destination is disabled when the calls are made', async () => {
    const receiver = await stage.receiver();
    const store = new InterruptedStore();
    const app = await stage.app({
      connection: backend.connection,
      destinations: { allowPrivateNetwork: true, encryptionKey: false },
      audiences: { store },
    });
    const audiences = app.context.get(AudiencesService);
    const destinations = app.context.get(DestinationsService);
    const { id } = await destinations.create({ urls: [receiver.url()] });
    await audiences.sync('VIP', ['ann']);
    const nothing = { added: 0, removed: 0, unchanged: 0 };
    const changes: [change: () => Promise<unknown>, result: unknown][] = [
      [() => audiences.sync('VIP', ['bob']), nothing],
      [() => audiences.sync('VIP', []), nothing],
      [() => audiences.add('VIP', 'bob'), false],
      [() => audiences.remove('VIP', 'ann'), false],
      [() => audiences.delete('VIP'), undefined],
    ];
    for (const [change, result] of changes) {
      store.onDoubt = () => destinations.disable(id);
      expect(await change()).toEqual(result);
      expect(await membersOf({ audiences }, 'VIP')).toEqual(['ann']);
      await destinations.enable(id);
    }

    store.onDoubt = () => Promise.resolve();
    expect(await audiences.sync('VIP', ['bob'])).toEqual({ added: 1, removed: 1, unchanged: 0 });
    expect(userValues(await receiver.received(3))).toEqual(['ann false', 'ann true', 'bob true']);
  });

  it('adds only users whose call a destination gets, if the tenant depends on the user', async () => {
    const [acme, initech] = [await stage.receiver(), await stage.receiver()];
    const app = await stage.app({
      connection: backend.connection,
      destinations: {
        allowPrivateNetwork: true,
        tenant: (message) =>
          message.type === 'identify' ? message.userId?.split('@')[1] : message.context.groupId?.toString(),
      },
    });
    const audiences = app.context.get(AudiencesService);
    const destinations = app.context.get(DestinationsService);
    const users = ['ann@acme', 'bob@initech'];
    const { id } = await destinations.create({ tenant: 'acme', urls: [acme.url()] });
    expect(await audiences.sync('VIP', users)).toEqual({ added: 1, removed: 0, unchanged: 0 });
    expect(await membersOf({ audiences }, 'VIP')).toEqual(['ann@acme']);
    expect(await audiences.add('VIP', 'dan@initech')).toBe(false);

    await destinations.create({ tenant: 'initech', urls: [initech.url()] });
    expect(await audiences.sync('VIP', users)).toEqual({ added: 1, removed: 0, unchanged: 1 });
    expect(await audiences.add('VIP', 'dan@initech')).toBe(true);
    await destinations.disable(id);
    expect(await audiences.remove('VIP', 'ann@acme')).toBe(false);
    expect(await audiences.sync('VIP', [])).toEqual({ added: 0, removed: 3, unchanged: 0 });
    expect(userValues(await initech.received(4))).toEqual([
      'bob@initech false',
      'bob@initech true',
      'dan@initech false',
      'dan@initech true',
    ]);
    expect(userValues(acme.requests)).toEqual(['ann@acme true']);
  });
});

describe('the option `audiences`', () => {
  const stage = new Stage();
  const newConnection = quickConnections();

  it('sets the source, the destinations and the store of the state', async () => {
    const receiver = await stage.receiver();
    const store = new MemoryAudienceStore();
    const app = await stage.app({
      connection: await newConnection(),
      sources: [
        { name: 'web', writeKey: 'wk_1' },
        { name: 'jobs', writeKey: 'wk_2' },
      ],
      writeKey: undefined,
      webhooks: [
        webhooksTo(receiver, { id: 'of-jobs', sources: ['jobs'], headers: { 'X-Source': 'jobs' } }),
        webhooksTo(receiver, { id: 'of-web', sources: ['web'], headers: { 'X-Source': 'web' } }),
      ],
      audiences: { store, source: 'jobs', integrations: { Webhooks: false } },
    });
    const audiences = app.context.get(AudiencesService);
    await audiences.add('Quiet', 'ann');
    await audiences.sync('Loud', ids(3), { integrations: {} });
    expect((await receiver.received(3)).map(({ headers }) => headers['x-source'])).toEqual(
      Array.from({ length: 3 }, () => 'jobs'),
    );
    expect(await store.list()).toMatchObject([{ trait: 'loud', source: 'jobs' }]);
    await audiences.delete('Loud', { notify: false });
    expect(await store.list()).toEqual([]);
    expect(receiver.requests).toHaveLength(3);
  });

  it('accepts a store that fails to release its locks, and still reports the change as made', async () => {
    class KeepsLocks extends MemoryAudienceStore {
      override unlock(): never {
        throw new Error('The store is away');
      }
    }
    const receiver = await stage.receiver();
    const store = new KeepsLocks();
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: webhooksTo(receiver),
      audiences: { store },
    });
    expect(await app.context.get(AudiencesService).add('VIP', 'ann')).toBe(true);
    expect((await store.members('vip', 10)).userIds).toEqual(['ann']);
  });

  it.each([
    [{ source: 'unknown' }, 'audiences.source'],
    [{ store: {} }, 'audiences.store'],
    [{ integrations: { Webhooks: 1 } }, 'audiences.integrations.Webhooks'],
    [{ unknown: true }, 'audiences.unknown'],
    ['on', 'audiences'],
  ])('is refused at start when it is %j', async (given, path) => {
    const audiences: unknown = given;
    const options = { connection: MEMORY, ...{ audiences } } as object;
    await expect(stage.app(options)).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
      problems: [expect.objectContaining({ path: path.replace(/\.Webhooks$/, '') })],
    });
  });
});

describe('an audience in the embedded database', () => {
  const folders = new EmbeddedFolders();
  afterAll(() => folders.dispose());

  it('does not keep growing while its members are replaced again and again', async () => {
    const pool = await openEmbeddedDatabase({ dataDir: await folders.copiedDataDir() });
    const store = new PostgresAudienceStore(pool);
    const hold = { trait: 'all', token: 'me' };
    await store.register({ trait: 'all', name: 'All', kind: 'audience' });
    await store.lock('all', 'change', 'me', 600_000);
    const sync = async (round: number): Promise<void> => {
      await store.advance(hold);
      const entries = ids(500).map((userId) => ({ userId: `${round}-${userId}`, value: 'true' }));
      await store.settle(hold, (await store.offer(hold, entries)).changed);
      await store.settle(hold, (await store.withdrawUnseen(hold, 1_000, undefined)).userIds);
    };
    const size = async (): Promise<number> => {
      const text = `SELECT pg_total_relation_size('nestjs_analytics.audience_member')::int AS size`;
      return (await pool.query<{ size: number }>(text, [])).rows[0]?.size ?? 0;
    };
    for (let round = 0; round < 40; round++) await sync(round);
    const early = await size();
    for (let round = 40; round < 80; round++) await sync(round);
    expect(await size()).toBeLessThan(1.5 * early);
    await pool.end();
  }, 120_000);
});

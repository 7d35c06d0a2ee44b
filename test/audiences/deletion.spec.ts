import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { createDeletionStore } from '../../src/deliveries/deleted-users.js';
import { userKey } from '../../src/deliveries/deletion-key.js';
import { deletedUser } from '../../src/deliveries/deletion-task.js';
import { AudiencesService } from '../../src/index.js';
import { QUEUE_BACKEND, type QueueBackend } from '../../src/queue/queue-backend.js';
import type { AnalyticsApp } from '../support/analytics-app.js';
import { GuardedChild } from '../support/child-process.js';
import { describeServers, describeServersOrEmbedded } from '../support/describe-backend.js';
import { messageIn } from '../support/received-message.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';
import { deferred } from '../support/deferred.js';
import { AudiencesOn, membersOf } from './audiences-on.js';
import { bound } from './bound-store.js';
import { quickConnections } from '../support/quick-connections.js';

const newConnection = quickConnections();

/** Returns the users whose deletion is not carried out yet. */
async function undoneIn(app: AnalyticsApp): Promise<string[]> {
  const store = await createDeletionStore(app.context.get<QueueBackend>(QUEUE_BACKEND).storage);
  const tasks = (await store.pending(1_000)).flatMap(({ task }) => task.split('\n'));
  return tasks.flatMap((task) => deletedUser(task).map(({ userId }) => userId)).sort();
}

describeServersOrEmbedded('a user of audiences', (backend) => {
  const stage = new Stage();

  it('is removed from audiences and computed traits of a deletion’s sources, without an identify call', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({
      connection: backend.connection,
      sources: [
        { name: 'web', writeKey: 'wk_1' },
        { name: 'jobs', writeKey: 'wk_2' },
      ],
      writeKey: undefined,
      webhooks: webhooksTo(receiver),
    });
    const audiences = app.context.get(AudiencesService);
    await audiences.sync('Web', ['ann', 'bob']);
    await audiences.syncTrait('Score', [['ann', 1], ['bob', 2]]); // prettier-ignore
    await audiences.sync('Jobs', ['ann', 'bob'], { source: 'jobs' });
    await receiver.received(6);

    app.analytics.delete({ userId: 'ann', sources: ['web'] });
    await until(async () => ((await membersOf({ audiences }, 'Score')).length === 1 ? true : undefined));
    await until(async () => ((await membersOf({ audiences }, 'Web')).length === 1 ? true : undefined));
    expect(await membersOf({ audiences }, 'Jobs')).toEqual(['ann', 'bob']);
    expect(await audiences.sync('Web', ['bob'])).toEqual({ added: 0, removed: 0, unchanged: 1 });
    expect(await audiences.syncTrait('Score', [['bob', 2]])).toMatchObject({ removed: 0, unchanged: 1 });
    expect(await audiences.sync('Web', ['ann', 'bob'])).toEqual({ added: 1, removed: 0, unchanged: 1 });

    await receiver.received(8);
    const told = receiver.requests.map((request) => messageIn(request)).slice(6);
    expect(told.map(({ type, traits }) => ({ type, traits }))).toEqual(
      expect.arrayContaining([
        { type: 'delete', traits: undefined },
        { type: 'identify', traits: { web: true } },
      ]),
    );
  });

  it('is removed by a deletion from other audiences while one is busy, and from that one when it is free', async () => {
    const { store } = await stage.add(AudiencesOn.open(backend.connection));
    const begun = deferred();
    const finish = deferred();
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: webhooksTo(await stage.receiver()),
      audiences: {
        store: {
          ...bound(store),
          // The busy audience comes first.
          list: async () => (await store.list()).sort((a, b) => (a.trait < b.trait ? -1 : 1)),
          settle: async (hold, userIds) => {
            if (userIds.includes('cid')) {
              begun.resolve();
              await finish.promise;
            }
            await store.settle(hold, userIds);
          },
        },
      },
    });
    const audiences = app.context.get(AudiencesService);
    for (const name of ['Busy', 'Idle', 'Other']) await audiences.sync(name, ['ann', 'bob']);
    const change = audiences.add('Busy', 'cid');
    await begun.promise;

    app.analytics.delete({ userId: 'ann' });
    for (const name of ['Idle', 'Other']) {
      await until(async () => ((await membersOf({ audiences }, name)).length === 1 ? true : undefined));
    }
    expect(await membersOf({ audiences }, 'Busy')).toContain('ann');
    finish.resolve();
    expect(await change).toBe(true);
    await until(async () => ((await membersOf({ audiences }, 'Busy')).includes('ann') ? undefined : true));
    expect(await membersOf({ audiences }, 'Busy')).toEqual(['bob', 'cid']);
  });

  it('is neither added nor removed while no destination takes the call', async () => {
    const receiver = await stage.receiver();
    const { connection } = backend;
    const disabled = await stage.app({ connection, webhooks: webhooksTo(receiver), enabled: false });
    const before = disabled.context.get(AudiencesService);
    const nothing = { added: 0, removed: 0, unchanged: 0 };
    expect(await before.sync('All', ['ann'])).toEqual(nothing);
    expect(await before.add('All', 'ann')).toBe(false);
    expect(await before.list()).toEqual([]);
    await disabled.close();

    const enabled = await stage.app({ connection, webhooks: webhooksTo(receiver) });
    const audiences = enabled.context.get(AudiencesService);
    const none = { integrations: { All: false } };
    expect(await audiences.sync('All', ['ann'], none)).toEqual(nothing);
    expect(await audiences.sync('All', ['ann'])).toEqual({ added: 1, removed: 0, unchanged: 0 });
    expect(await audiences.remove('All', 'ann', none)).toBe(false);
    await audiences.delete('All', none);
    expect(await membersOf({ audiences }, 'All')).toEqual(['ann']);
  });
});

describe('a deleted user of an audience that cannot be changed', () => {
  const stage = new Stage();

  /** @param breaks replaces the removal of users from the audience `Broken` unless it returns `undefined` */
  async function brokenApp(breaks: () => Promise<never> | undefined): Promise<AnalyticsApp> {
    const { store } = await stage.add(AudiencesOn.open(await newConnection()));
    return stage.app({
      connection: await newConnection(),
      sources: ['web', 'jobs'].map((name) => ({ name, writeKey: name })),
      webhooks: webhooksTo(await stage.receiver()),
      audiences: {
        store: {
          ...bound(store),
          // The broken audience comes first.
          list: async () => (await store.list()).sort((a, b) => (a.trait < b.trait ? -1 : 1)),
          withdraw: (hold, userIds) =>
            (hold.trait === 'broken' ? breaks() : undefined) ?? store.withdraw(hold, userIds),
        },
      },
      shutdownTimeout: 1_000_000,
    });
  }

  it('is removed from the other audiences, and from this one as soon as it can be changed', async () => {
    let isBroken = true;
    const app = await brokenApp(() => (isBroken ? Promise.reject(new Error('a bad row')) : undefined));
    const audiences = app.context.get(AudiencesService);
    for (const name of ['Broken', 'Other']) await audiences.sync(name, ['ann', 'bob']);
    app.analytics.delete({ userId: 'ann' });
    await until(async () => (await membersOf({ audiences }, 'Other')).join() === 'bob' || undefined);
    expect(await membersOf({ audiences }, 'Broken')).toEqual(['ann', 'bob']);
    isBroken = false;
    await until(async () => (await membersOf({ audiences }, 'Broken')).join() === 'bob' || undefined);
  });

  it('is the only user whose deletion is repeated', async () => {
    const app = await brokenApp(() => Promise.reject(new Error('a bad row')));
    await app.context.get(AudiencesService).sync('Broken', ['ann', 'bob'], { source: 'web' });
    app.analytics.delete({ userId: 'ann' });
    app.analytics.source('jobs').delete({ userId: 'bob' });
    await app.log.line(/The deletion of 1 user is not complete yet/);
    expect(await undoneIn(app)).toEqual(['ann']);
  });

  it.each([
    ['fails', () => Promise.reject(new Error('a bad row'))],
    ['hangs', () => new Promise<never>(() => undefined)],
  ])('does not delay the shutdown of the application while the change %s', async (_, change) => {
    const tried = deferred();
    const app = await brokenApp(() => {
      tried.resolve();
      return change();
    });
    await app.context.get(AudiencesService).sync('Broken', ['ann']);
    app.analytics.delete({ userId: 'ann' });
    await tried.promise;
    await app.close();
    expect(app.log.errors).toEqual([]);
  });
});

describe('a deleted user of audiences that change slowly', () => {
  const stage = new Stage();

  it('is removed from all of them before the application has closed', async () => {
    const { store } = await stage.add(AudiencesOn.open(await newConnection()));
    const begun = deferred();
    const left: string[] = [];
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: webhooksTo(await stage.receiver()),
      audiences: {
        store: {
          ...bound(store),
          withdraw: async (hold, userIds) => {
            begun.resolve();
            await sleep(400);
            left.push(hold.trait);
            return store.withdraw(hold, userIds);
          },
        },
      },
    });
    const names = ['one', 'two', 'three', 'four', 'five'];
    for (const name of names) await app.context.get(AudiencesService).sync(name, ['ann']);
    app.analytics.delete({ userId: 'ann' });
    await begun.promise;
    await app.close();
    expect(left.sort()).toEqual(names.sort());
  });
});

describe('the deletion of a user by a tenant', () => {
  const stage = new Stage();

  /** Waits until the audience has lost the user and no deletion is pending. */
  async function carriedOut(
    app: AnalyticsApp,
    audiences: AudiencesService,
    name: string,
    userId = '1',
  ): Promise<void> {
    await until(async () => ((await membersOf({ audiences }, name)).includes(userId) ? undefined : true));
    await until(async () => (await undoneIn(app)).length === 0 || undefined);
  }

  it('leaves users with the same id in audiences of other tenants and of none', async () => {
    const app = await stage.app({
      connection: await newConnection(),
      sources: [
        { name: 'acme', writeKey: 'wk_1', tenant: 'acme' },
        { name: 'globex', writeKey: 'wk_2', tenant: 'globex' },
        { name: 'app', writeKey: 'wk_3' },
      ],
      webhooks: webhooksTo(await stage.receiver()),
    });
    const { analytics } = app;
    const audiences = app.context.get(AudiencesService);
    await audiences.sync('Visitors', ['1', '2'], { source: 'acme' });
    await audiences.sync('Buyers', ['1', '2'], { source: 'globex' });
    await audiences.sync('Everybody', ['1', '2'], { source: 'app' });

    analytics.tenant('acme').delete({ userId: '1' });
    await carriedOut(app, audiences, 'Visitors');
    expect(await membersOf({ audiences }, 'Buyers')).toEqual(['1', '2']);
    expect(await membersOf({ audiences }, 'Everybody')).toEqual(['1', '2']);
    analytics.tenant('globex').delete({ userId: '1' });
    await carriedOut(app, audiences, 'Buyers');
    expect(await membersOf({ audiences }, 'Buyers')).toEqual(['2']);
    expect(await membersOf({ audiences }, 'Everybody')).toEqual(['1', '2']);
    analytics.delete({ userId: '1' });
    await carriedOut(app, audiences, 'Everybody');
    expect(await membersOf({ audiences }, 'Everybody')).toEqual(['2']);
  });

  it('covers audiences if `destinations.tenant` assigns their calls about the user to the tenant', async () => {
    const tenants = new Map([['1', 'acme'], ['2', 'globex']]); // prettier-ignore
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: webhooksTo(await stage.receiver()),
      destinations: { tenant: ({ userId }) => tenants.get(userId ?? '') },
    });
    const audiences = app.context.get(AudiencesService);
    await audiences.sync('All', ['1', '2']);
    const acme = app.analytics.tenant('acme');
    acme.delete({ userId: '2' });
    acme.delete({ userId: '1' });
    await carriedOut(app, audiences, 'All');
    expect(await membersOf({ audiences }, 'All')).toEqual(['2']);
  });

  it('is repeated while `destinations.tenant` throws, for members only, and delays no other deletion', async () => {
    let isAway = false;
    const app = await stage.app({
      connection: await newConnection(),
      sources: [
        { name: 'acme', writeKey: 'wk_1', tenant: 'acme' },
        { name: 'app', writeKey: 'wk_2' },
      ],
      webhooks: webhooksTo(await stage.receiver()),
      destinations: {
        tenant: ({ userId }) => {
          if (isAway) throw Object.assign(new Error('a secret'), { code: 'ECONNREFUSED' });
          return userId === '2' ? 'globex' : 'acme';
        },
      },
    });
    const audiences = app.context.get(AudiencesService);
    await audiences.sync('Visitors', ['1', '3'], { source: 'acme' });
    await audiences.sync('Buyers', ['1'], { source: 'acme' });
    await audiences.sync('Buyers', ['1', '4'], { source: 'app' });
    await audiences.sync('All', ['1', '2'], { source: 'app' });
    const acme = app.analytics.tenant('acme');
    isAway = true;
    acme.delete({ userId: '3' });
    await carriedOut(app, audiences, 'Visitors', '3');
    expect(app.log.analytics.filter((line) => line.includes('not complete'))).toEqual([]);
    for (const userId of ['1', '2']) acme.delete({ userId });
    app.analytics.delete({ userId: '9' });
    const line = await app.log.line(/is not complete yet/);
    expect(line).toMatch(/The deletion of 2 users .* \(`destinations\.tenant` threw Error at .*\)/);
    expect(line).not.toContain('a secret');
    expect(await undoneIn(app)).toEqual(['1', '2']);
    expect(await membersOf({ audiences }, 'Visitors')).toEqual([]);
    // One source of this audience is bound to the tenant.
    expect(await membersOf({ audiences }, 'Buyers')).toEqual(['4']);
    expect(await membersOf({ audiences }, 'All')).toEqual(['1', '2']);
    isAway = false;
    await carriedOut(app, audiences, 'All');
    expect(await membersOf({ audiences }, 'All')).toEqual(['2']);
  });

  it('covers all tenants if an older version stored it without a tenant', async () => {
    const app = await stage.app({
      connection: await newConnection(),
      sources: [{ name: 'acme', writeKey: 'wk_1', tenant: 'acme' }],
      webhooks: webhooksTo(await stage.receiver()),
    });
    const audiences = app.context.get(AudiencesService);
    await audiences.sync('Visitors', ['1', '2']);
    const store = await createDeletionStore(app.context.get<QueueBackend>(QUEUE_BACKEND).storage);
    const task = JSON.stringify({ userId: '1', sources: ['acme'] });
    await store.add([{ key: userKey('1'), at: Date.now(), task }]);
    // The next deletion makes the process carry out the stored deletion as well.
    app.analytics.tenant('globex').delete({ userId: '3' });
    await carriedOut(app, audiences, 'Visitors');
    expect(await membersOf({ audiences }, 'Visitors')).toEqual(['2']);
  });
});

describeServers('a user whom two processes delete at the same time', (backend) => {
  const stage = new Stage();

  it('is removed from the audiences of both sources', async () => {
    const options = {
      connection: backend.connection,
      sources: ['web', 'jobs'].map((name) => ({ name, writeKey: name })),
      webhooks: webhooksTo(await stage.receiver()),
    };
    const one = await stage.app(options);
    const two = await stage.app(options);
    const audiences = one.context.get(AudiencesService);
    for (const source of ['web', 'jobs']) await audiences.sync(source, ['ann', 'bob'], { source });
    one.analytics.source('web').delete({ userId: 'ann' });
    two.analytics.source('jobs').delete({ userId: 'ann' });
    for (const name of ['web', 'jobs']) {
      await until(async () => (await membersOf({ audiences }, name)).join() === 'bob' || undefined);
    }
  });
});

describe('the audiences service', () => {
  const stage = new Stage();

  it('refuses every call once the application has shut down', async () => {
    const receiver = await stage.receiver();
    const connection = await newConnection();
    const app = await stage.app({ connection, webhooks: webhooksTo(receiver) });
    const audiences = app.context.get(AudiencesService);
    await app.close();
    const closed = { code: 'ANALYTICS_CLOSED' };
    await expect(audiences.sync('All', [])).rejects.toMatchObject(closed);
    await expect(audiences.syncTrait('Score', [])).rejects.toMatchObject(closed);
    await expect(audiences.add('All', 'ann')).rejects.toMatchObject(closed);
    await expect(audiences.remove('All', 'ann')).rejects.toMatchObject(closed);
    await expect(audiences.delete('All')).rejects.toMatchObject(closed);
    await expect(audiences.list()).rejects.toMatchObject(closed);
    await expect(membersOf({ audiences }, 'All')).rejects.toMatchObject(closed);
  });

  it('lets the process end while a sync waits for members that never come', async () => {
    const script = new URL('./children/endless-sync.ts', import.meta.url);
    const child = await GuardedChild.startScript(script, [JSON.stringify(await newConnection())]);
    await child.waitFor(/closed/);
    await child.exited;
  });

  it.each([undefined, null, 7, {}, 'ann', () => ['ann']])('refuses %p as members', async (given) => {
    const connection = await newConnection();
    const app = await stage.app({ connection, webhooks: { urls: ['https://hooks.example.com/'] } });
    const audiences = app.context.get(AudiencesService);
    const members: unknown = given;
    await expect(audiences.sync('All', members as string[])).rejects.toMatchObject({
      code: 'INVALID_MESSAGE',
      field: 'members',
    });
    await expect(audiences.syncTrait('Score', members as [string, unknown][])).rejects.toMatchObject({
      code: 'INVALID_MESSAGE',
      field: 'entries',
    });
  });
});

import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { AudienceSyncResult } from '../../src/audiences/audiences.types.js';
import { describeServersOrEmbedded } from '../support/describe-backend.js';
import { type Route, StaticRouter, type StaticRouterOptions } from '../../src/client/router.js';
import type { AnalyticsMessage } from '../../src/index.js';
import { deferred } from '../support/deferred.js';
import { AudiencesOn, type Life, membersOf, type QueuedCall } from './audiences-on.js';
import { bound } from './bound-store.js';

/** The real `process`. Jest gives a spec a copy, which emits no warnings. */
const realProcess = (Reflect.get(globalThis, Symbol.for('nestjs-analytics.tests.require')) as NodeJS.Require)(
  'node:process',
) as NodeJS.Process;

/** Number of users that the service handles in one step. */
const STEP = 1_000;

function ids(count: number, prefix = 'user'): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
}

function inOrder(calls: QueuedCall[]): [string, unknown][] {
  return calls
    .map(({ userId, traits }): [string, unknown] => [userId, Object.values(traits)[0]])
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Returns a single member of an audience, who is yielded only after `finish` is called. */
function heldMembers(): { members: AsyncGenerator<string>; reached: Promise<void>; finish: () => void } {
  const reached = deferred();
  const held = deferred();
  async function* members(): AsyncGenerator<string> {
    reached.resolve();
    await held.promise;
    yield 'ann';
  }
  return { members: members(), reached: reached.promise, finish: held.resolve };
}

/** Finds no destination for some messages. */
class LosingRouter extends StaticRouter {
  constructor(
    options: StaticRouterOptions,
    private readonly loses: (message: AnalyticsMessage) => boolean,
    private readonly varies = false,
  ) {
    super(options);
  }

  override route(...call: Parameters<StaticRouter['route']>): Route {
    const [, message] = call;
    return this.loses(message) ? { connections: [], isFiltered: false } : super.route(...call);
  }

  variesByMessage(): boolean {
    return this.varies;
  }
}

describeServersOrEmbedded('the audiences service', (backend) => {
  let on: AudiencesOn;
  let life: Life;

  beforeEach(async () => {
    on = await AudiencesOn.open(backend.connection);
    life = on.live();
  });
  afterEach(() => on.close());

  it('sends true for every user at first, and later only calls about users who joined or left', async () => {
    const { audiences } = life;
    expect(await audiences.sync('Big Spenders', ['ann', 'bob', 'ann'])).toEqual({
      added: 2,
      removed: 0,
      unchanged: 0,
    });
    expect(await on.calls()).toEqual([
      { userId: 'ann', traits: { big_spenders: true }, source: 'web' },
      { userId: 'bob', traits: { big_spenders: true }, source: 'web' },
    ]);
    async function* later(): AsyncGenerator<string> {
      yield await Promise.resolve('bob');
      yield 'cid';
    }
    expect(await audiences.sync('Big Spenders', later())).toEqual({ added: 1, removed: 1, unchanged: 1 });
    expect(inOrder(await on.calls())).toEqual([
      ['ann', false],
      ['cid', true],
    ]);
    expect(await membersOf(life, 'Big Spenders')).toEqual(['bob', 'cid']);
  });

  it('adds and removes single users, and sends nothing if nothing changes', async () => {
    const { audiences } = life;
    expect(await audiences.add('VIPs', 'ann')).toBe(true);
    expect(await audiences.add('VIPs', 'ann')).toBe(false);
    expect(await audiences.remove('VIPs', 'bob')).toBe(false);
    expect(await audiences.remove('VIPs', 'ann')).toBe(true);
    expect(await audiences.remove('Unknown', 'ann')).toBe(false);
    expect((await on.calls()).map(({ traits }) => traits)).toEqual([{ vi_ps: true }, { vi_ps: false }]);
    expect(await audiences.list()).toEqual([
      { trait: 'vi_ps', name: 'VIPs', kind: 'audience', source: 'web' },
    ]);
  });

  it('sends computed traits whose value changed, and null for users who lost theirs', async () => {
    const { audiences } = life;
    const first = new Map<string, unknown>([
      ['ann', 1],
      ['bob', { tier: 'gold', since: 2020 }],
      ['cid', 'x'.repeat(1_000)],
      ['dan', null],
      ['eve', false],
      ['fay', 0],
    ]);
    expect(await audiences.syncTrait('Lifetime Value', first)).toEqual({
      changed: 5,
      removed: 0,
      unchanged: 0,
    });
    expect(inOrder(await on.calls())).toEqual([...first].filter(([, value]) => value !== null));
    const second: [string, unknown][] = [
      ['ann', 2],
      ['bob', { since: 2020, tier: 'gold' }],
      ['cid', 'x'.repeat(999)],
      ['eve', false],
      ['fay', null],
      ['gus', undefined],
    ];
    expect(await audiences.syncTrait('Lifetime Value', second)).toEqual({
      changed: 2,
      removed: 1,
      unchanged: 2,
    });
    expect(inOrder(await on.calls())).toEqual([
      ['ann', 2],
      ['cid', 'x'.repeat(999)],
      ['fay', null],
    ]);
    expect(await membersOf(life, 'Lifetime Value')).toEqual(['ann', 'bob', 'cid', 'eve']);
  });

  it('sends the value as it was when its user was yielded, even if all users share one object', async () => {
    function* rows(): Generator<[string, unknown]> {
      const orders = { total: 0 };
      for (const userId of ['ann', 'bob']) {
        orders.total++;
        yield [userId, orders];
      }
    }
    await life.audiences.syncTrait('Orders', rows());
    expect(inOrder(await on.calls())).toEqual([
      ['ann', { total: 1 }],
      ['bob', { total: 2 }],
    ]);
  });

  it('deletes an audience with a last call about each member, or without calls', async () => {
    const { audiences } = life;
    const members = ids(STEP + 1);
    await audiences.sync('Told', members);
    await audiences.sync('Untold', ['ann']);
    await audiences.syncTrait('Score', [['ann', 7]]);
    await on.calls();
    await audiences.delete('Untold', { notify: false });
    expect(await on.calls()).toEqual([]);
    await audiences.delete('Told');
    expect(inOrder(await on.calls())).toEqual(inOrder(members.map((userId) => ({ userId, traits: { told: false }, source: '' })))); // prettier-ignore
    await audiences.delete('Score');
    expect(inOrder(await on.calls())).toEqual([['ann', null]]);
    await audiences.delete('Told');
    expect(await audiences.list()).toEqual([]);
    expect(await audiences.sync('Told', ['user-1'])).toEqual({ added: 1, removed: 0, unchanged: 0 });
  });

  it('refuses a name whose property belongs to another audience', async () => {
    const { audiences } = life;
    await audiences.sync('Big Spenders', ['ann']);
    const taken = { code: 'AUDIENCE_NAME_TAKEN', message: expect.stringContaining('"Big Spenders"') };
    await expect(audiences.sync('big-spenders', [])).rejects.toMatchObject(taken);
    await expect(audiences.add('bigSpenders', 'bob')).rejects.toMatchObject(taken);
    await expect(audiences.remove('bigSpenders', 'ann')).rejects.toMatchObject(taken);
    await expect(audiences.delete('BIG SPENDERS')).rejects.toMatchObject(taken);
    await expect(membersOf(life, 'big_spenders')).rejects.toMatchObject(taken);
    await expect(audiences.syncTrait('Big Spenders', [])).rejects.toMatchObject(taken);
    expect(await membersOf(life, 'Big Spenders')).toEqual(['ann']);
  });

  it('reports its counts after each step, and keeps only one step in memory', async () => {
    const { audiences } = life;
    await audiences.sync('All', ids(STEP + 10, 'old'));
    const progress: AudienceSyncResult[] = [];
    let pulled = 0;
    let mostAhead = 0;
    function* members(): Generator<string> {
      for (const userId of [...ids(10, 'old'), ...ids(2 * STEP)]) {
        pulled++;
        const { added = 0, unchanged = 0 } = progress.at(-1) ?? {};
        mostAhead = Math.max(mostAhead, pulled - added - unchanged);
        yield userId;
      }
    }
    const result = await audiences.sync('All', members(), { onProgress: (counts) => progress.push(counts) });
    expect(progress).toEqual([
      { added: STEP - 10, removed: 0, unchanged: 10 },
      { added: 2 * STEP - 10, removed: 0, unchanged: 10 },
      { added: 2 * STEP, removed: 0, unchanged: 10 },
      { added: 2 * STEP, removed: STEP, unchanged: 10 },
    ]);
    expect(result).toEqual(progress.at(-1));
    expect(mostAhead).toBeLessThanOrEqual(STEP);
  });

  it('ends a sync with the error of an `onProgress` whose promise rejects', async () => {
    const away = new Error('the table of the jobs is away');
    const onProgress = (): Promise<void> => Promise.reject(away);
    const { audiences } = life;
    await expect(audiences.sync('All', ids(STEP + 1), { onProgress })).rejects.toBe(away);
    await expect(audiences.syncTrait('Score', [['ann', 1]], { onProgress })).rejects.toBe(away);
    expect(await audiences.sync('All', ids(STEP + 1))).toMatchObject({ added: 1, unchanged: STEP });
  });

  it('records finished steps if the members cannot be read to the end, and continues from there', async () => {
    const { audiences } = life;
    await audiences.sync('All', ['old']);
    await on.calls();
    function* broken(): Generator<string> {
      yield* ids(STEP);
      throw new Error('the query failed');
    }
    await expect(audiences.sync('All', broken())).rejects.toThrow('the query failed');
    expect(await on.calls()).toHaveLength(STEP);
    expect(await audiences.sync('All', ids(STEP + 1))).toEqual({ added: 1, removed: 1, unchanged: STEP });
    expect(inOrder(await on.calls())).toEqual([
      ['old', false],
      [`user-${STEP}`, true],
    ]);
  });

  it('waits for another sync of the same audience, and refuses the call after `wait`', async () => {
    const { members, reached, finish } = heldMembers();
    const first = life.audiences.sync('All', members);
    await reached;
    const other = on.live().audiences;
    const busy = { code: 'AUDIENCE_BUSY', message: expect.stringContaining('"All"') };
    await expect(other.sync('All', ['bob'], { wait: 0 })).rejects.toMatchObject(busy);
    await expect(other.delete('All', { wait: 0 })).rejects.toMatchObject(busy);
    expect(await other.sync('Another', ['bob'], { wait: 0 })).toMatchObject({ added: 1 });
    const second = other.sync('All', ['bob']);
    finish();
    expect(await first).toMatchObject({ added: 1, removed: 0 });
    expect(await second).toMatchObject({ added: 1, removed: 1 });
    expect(await membersOf(life, 'All')).toEqual(['bob']);
  });

  it('lines up its syncs of one audience, and does not ask the database while they wait', async () => {
    const asked: string[] = [];
    const { audiences } = on.live({
      wrapStore: (store) => ({
        ...bound(store),
        lock: (trait, kind, ...rest) => {
          if (kind === 'sync') asked.push(trait);
          return store.lock(trait, kind, ...rest);
        },
      }),
    });
    const warnings: string[] = [];
    const hear = ({ name }: Error): void => void warnings.push(name);
    realProcess.on('warning', hear);
    const { members, finish } = heldMembers();
    const first = audiences.sync('All', members);
    const refused = Array.from({ length: 20 }, () => audiences.sync('All', ['bob'], { wait: 300 }));
    const next = Array.from({ length: 3 }, () => audiences.sync('All', ['bob']));
    const busy = { code: 'AUDIENCE_BUSY', waited: 300 };
    await Promise.all(refused.map((sync) => expect(sync).rejects.toMatchObject(busy)));
    expect(asked).toEqual(['all']);
    finish();
    await Promise.all([first, ...next]);
    expect(asked).toEqual(['all', 'all', 'all', 'all']);
    expect(await membersOf({ audiences }, 'All')).toEqual(['bob']);
    realProcess.off('warning', hear);
    // Node reports more than ten listeners of one signal as a leak.
    expect(warnings).not.toContain('MaxListenersExceededWarning');
  });

  it('ends syncs that wait for another sync when the application shuts down', async () => {
    const { audiences } = on.live();
    const { members, reached, finish } = heldMembers();
    const first = audiences.sync('All', members);
    await reached;
    const waiting = audiences.sync('All', ['bob'], { wait: Infinity });
    const closed = { code: 'ANALYTICS_CLOSED' };
    const ended = expect(waiting).rejects.toMatchObject(closed);
    const stopped = audiences.beforeApplicationShutdown();
    await ended;
    await expect(audiences.sync('All', ['bob'], { wait: Infinity })).rejects.toMatchObject(closed);
    finish();
    await expect(first).rejects.toMatchObject(closed);
    await stopped;
  });

  it('keeps users whom another process adds during a sync', async () => {
    await life.audiences.sync('All', ['early', 'leaver']);
    const reached = deferred();
    const finish = deferred();
    async function* slow(): AsyncGenerator<string> {
      yield* [...ids(STEP - 1), 'leaver'];
      reached.resolve();
      await finish.promise;
    }
    const sync = life.audiences.sync('All', slow());
    await reached.promise;
    const other = on.live().audiences;
    expect(await other.add('All', 'late')).toBe(true);
    expect(await other.add('All', 'early')).toBe(false);
    finish.resolve();
    await sync;
    expect(await other.remove('All', 'leaver')).toBe(true);
    expect(await membersOf(life, 'All')).toEqual([...ids(STEP - 1), 'early', 'late'].sort());
  });

  it('sends one call about each user if two processes add the same users at the same time', async () => {
    const lives = [life, on.live()];
    const users = ids(10);
    const changes = await Promise.all(
      lives.flatMap(({ audiences }) => users.map((userId) => audiences.add('All', userId))),
    );
    expect(changes.filter(Boolean)).toHaveLength(users.length);
    expect(await on.calls()).toHaveLength(users.length);
  });

  it('sends calls from the given source to the given destinations', async () => {
    const { audiences } = life;
    await audiences.sync('All', ['ann'], { source: 'server' });
    await audiences.sync('All', ['ann'], { source: 'server', integrations: { Webhooks: true } });
    expect(await on.calls()).toEqual([{ userId: 'ann', traits: { all: true }, source: 'server' }]);
    await expect(audiences.sync('All', [], { source: 'unknown' })).rejects.toMatchObject({
      code: 'UNKNOWN_SOURCE',
    });
  });

  it('waits for room in the buffer, and leaves about half of it to other calls', async () => {
    const maxBufferedBytes = 4_000;
    let mostWaiting = 0;
    const narrow = on.live({
      client: { maxBufferedBytes },
      wrapSink: (sink) => ({
        add: async (jobs) => {
          const bytes = jobs
            .flatMap(({ batches }) => batches)
            .flatMap(({ messages }) => messages.map(({ body }) => Buffer.byteLength(body)));
          mostWaiting = Math.max(
            mostWaiting,
            bytes.reduce((sum, size) => sum + size, 0),
          );
          await sink.add(jobs);
        },
      }),
    });
    expect(await narrow.audiences.sync('All', ids(200))).toMatchObject({ added: 200 });
    expect(await on.calls()).toHaveLength(200);
    expect(await narrow.client.flush()).toMatchObject({ refused: 0 });
    expect(mostWaiting).toBeLessThan(maxBufferedBytes * 0.6);
  });

  it('records no user whose call was refused', async () => {
    const failing = on.live({
      client: {
        beforeSend: () => {
          throw new Error('a secret');
        },
      },
    });
    await expect(failing.audiences.add('All', 'ann')).rejects.toMatchObject({
      code: 'MESSAGE_REFUSED',
      message: expect.not.stringContaining('a secret'),
    });
    const narrow = on.live({ client: { maxBufferedBytes: 10 } });
    await expect(narrow.audiences.add('All', 'ann')).rejects.toMatchObject({
      code: 'MESSAGE_REFUSED',
      message: expect.stringContaining('maxBufferedBytes'),
    });
    expect(await membersOf(life, 'All')).toEqual([]);
    expect(await life.audiences.add('All', 'ann')).toBe(true);
  });

  it('continues a sync after refused calls, and ends it if every call is refused', async () => {
    let isAway = false;
    let seen = 0;
    const { audiences } = on.live({
      stepSize: 100,
      client: {
        beforeSend: (message) => {
          seen++;
          if (isAway || message.userId === 'user-0') throw new Error('a secret');
          return message;
        },
      },
    });
    const refused = { code: 'MESSAGE_REFUSED', count: 1 };
    await expect(audiences.sync('All', ids(300))).rejects.toMatchObject(refused);
    await expect(audiences.sync('All', ids(300))).rejects.toMatchObject(refused);
    expect(await on.calls()).toHaveLength(299);
    expect(await membersOf(life, 'All')).toHaveLength(299);

    isAway = true;
    seen = 0;
    await expect(audiences.sync('Others', ids(300))).rejects.toMatchObject({ ...refused, count: 100 });
    expect(seen).toBe(100);
  });

  it('ends a sync and a deletion once no destination is left, and finishes them in the next run', async () => {
    let isGone = false;
    const { audiences } = on.live({
      stepSize: 2,
      newRouter: (options) => new LosingRouter(options, () => isGone),
      wrapStore: (store) => ({
        ...bound(store),
        settle: async (...users) => {
          await store.settle(...users);
          isGone = true;
        },
      }),
    });
    let read = 0;
    function* members(): Generator<string> {
      for (const userId of ids(6)) {
        read++;
        yield userId;
      }
    }
    expect(await audiences.sync('All', members())).toEqual({ added: 2, removed: 0, unchanged: 0 });
    expect(read).toBeLessThan(6);
    expect(await membersOf(life, 'All')).toEqual(['user-0', 'user-1']);
    isGone = false;
    const fewer = ['user-2', 'user-3'];
    expect(await audiences.sync('All', fewer)).toEqual({ added: 2, removed: 0, unchanged: 0 });
    expect(await membersOf(life, 'All')).toEqual(ids(4));
    isGone = false;
    await audiences.delete('All');
    expect(await membersOf(life, 'All')).not.toEqual([]);
    await life.audiences.delete('All');
    expect(await life.audiences.list()).toEqual([]);

    const calls = inOrder(await on.calls());
    const leaving = calls.filter(([, value]) => value === false).map(([userId]) => userId);
    expect(leaving).toEqual(ids(4));
    expect(calls).toHaveLength(8);
  });

  it('records no user whose own destination is gone when the call is made', async () => {
    let looks = 0;
    const losesBob = ({ userId }: AnalyticsMessage): boolean => userId === 'bob' && ++looks === 2;
    const { audiences } = on.live({ newRouter: (options) => new LosingRouter(options, losesBob, true) });
    expect(await audiences.sync('All', ['ann', 'bob'])).toEqual({ added: 1, removed: 0, unchanged: 0 });
    expect(await membersOf(life, 'All')).toEqual(['ann']);
    expect(await audiences.sync('All', ['ann', 'bob'])).toEqual({ added: 1, removed: 0, unchanged: 1 });
  });

  it('records users whose calls `beforeSend` keeps from their destination', async () => {
    const { audiences } = on.live({
      client: {
        beforeSend: (message) =>
          message.userId === 'ann' ? null : { ...message, integrations: { All: message.userId === 'cid' } },
      },
    });
    expect(await audiences.sync('All', ['ann', 'bob', 'cid'])).toMatchObject({ added: 3 });
    expect((await on.calls()).map(({ userId }) => userId)).toEqual(['cid']);
  });

  it('continues a sync after a small step whose calls are all refused', async () => {
    const { audiences } = on.live({ stepSize: 2 });
    const large = 'x'.repeat(40_000);
    const values = new Map<string, unknown>([['ann', large], ['bob', large], ['cid', 1]]); // prettier-ignore
    await expect(audiences.syncTrait('Score', values)).rejects.toMatchObject({ code: 'MESSAGE_TOO_LARGE' });
    expect(inOrder(await on.calls())).toEqual([['cid', 1]]);
  });

  it('continues a sync after a step whose values are all too large', async () => {
    const { audiences } = on.live({ stepSize: 150 });
    const values = new Map<string, unknown>(ids(150).map((userId) => [userId, 'x'.repeat(40_000)]));
    values.set('zoe', 1);
    await expect(audiences.syncTrait('Score', values)).rejects.toMatchObject({ code: 'MESSAGE_TOO_LARGE' });
    expect(inOrder(await on.calls())).toEqual([['zoe', 1]]);
  });

  it.each([
    ['the same one', false],
    ['one after the other', true],
  ])(
    'ends a sync if a store written for version 0.1.0 finds refused users again and again: %s',
    async (_, takesTurns) => {
      const unsettled = new Set<string>();
      let isAway = false;
      const { audiences } = on.live({
        stepSize: 1,
        client: {
          beforeSend: (message) => {
            if (isAway && message.userId !== 'cid') throw new Error('a secret');
            return message;
          },
        },
        wrapStore: (store) => ({
          ...bound(store),
          withdrawUnseen: async (hold, limit, from) => {
            const { userIds, next } = await store.withdrawUnseen(hold, limit, from === '' ? undefined : from);
            for (const userId of userIds) unsettled.add(userId);
            const found = [...unsettled].slice(0, limit);
            for (const userId of takesTurns ? found : []) {
              unsettled.delete(userId);
              unsettled.add(userId);
            }
            return { userIds: found, next: unsettled.size < limit ? next : (next ?? '') };
          },
          settle: async (hold, userIds) => {
            await store.settle(hold, userIds);
            for (const userId of userIds) unsettled.delete(userId);
          },
        }),
      });
      await audiences.sync('All', ['ann', 'bob', 'cid']);
      isAway = true;
      await expect(audiences.sync('All', ['cid'])).rejects.toMatchObject({ code: 'MESSAGE_REFUSED' });
      await expect(audiences.delete('All')).rejects.toMatchObject({ code: 'MESSAGE_REFUSED' });
      expect(await membersOf(life, 'All')).toEqual(expect.arrayContaining(['ann', 'bob']));
    },
  );

  it('does not send a value that is too large, and sends all others once', async () => {
    const values = new Map<string, unknown>([['ann', 1], ['bob', 'x'.repeat(40_000)], ['cid', 2]]); // prettier-ignore
    const tooLarge = { code: 'MESSAGE_TOO_LARGE' };
    await expect(life.audiences.syncTrait('Score', values)).rejects.toMatchObject(tooLarge);
    await expect(life.audiences.syncTrait('Score', values)).rejects.toMatchObject(tooLarge);
    expect(inOrder(await on.calls())).toEqual([['ann', 1], ['cid', 2]]); // prettier-ignore
  });

  it('refuses ids, values and names that cannot be sent', async () => {
    const { audiences } = life;
    const given: readonly unknown[] = ['', ' ', '\n', null, 7, 'a\0b', '\ud800', 'x'.repeat(1_025)];
    for (const userId of given) {
      const members = [userId].map((value) => value as string);
      await expect(audiences.sync('All', members)).rejects.toMatchObject({
        code: 'INVALID_MESSAGE',
        field: 'userId',
      });
    }
    for (const userId of ['', '  ']) {
      await expect(audiences.add('All', userId)).rejects.toMatchObject({ field: 'userId' });
    }
    await expect(audiences.sync('All', 'ann')).rejects.toMatchObject({ field: 'members' });
    await expect(audiences.syncTrait('Score', [['ann', 1n]])).rejects.toMatchObject({ field: 'value' });
    for (const name of ['', '!!!', 'x'.repeat(201), 'a\0b', 'a\ud800']) {
      const refused = { code: 'INVALID_AUDIENCE_NAME' };
      await expect(audiences.sync(name, [])).rejects.toMatchObject(refused);
      await expect(audiences.syncTrait(name, [])).rejects.toMatchObject(refused);
      await expect(audiences.add(name, 'ann')).rejects.toMatchObject(refused);
      await expect(audiences.remove(name, 'ann')).rejects.toMatchObject(refused);
      await expect(audiences.delete(name)).rejects.toMatchObject(refused);
      await expect(membersOf(life, name)).rejects.toMatchObject(refused);
    }
    expect(await on.calls()).toEqual([]);
  });

  it('removes blank ids that version 0.1.0 recorded, without a call', async () => {
    await life.audiences.add('All', 'ann');
    const hold = { trait: 'all', token: 'of 0.1.0' };
    await on.store.lock(hold.trait, 'change', hold.token, 10_000);
    await on.store.offer(hold, [{ userId: ' ', value: 'true' }]);
    await on.store.settle(hold, [' ']);
    await on.store.unlock(hold.trait, 'change', hold.token);
    expect(await membersOf(life, 'All')).toEqual([' ', 'ann']);
    expect(await life.audiences.sync('All', ['bob'])).toMatchObject({ added: 1 });
    expect(await membersOf(life, 'All')).toEqual(['bob']);
    expect(inOrder(await on.calls()).slice(1)).toEqual([
      ['ann', false],
      ['bob', true],
    ]);
  });

  it('stops a sync after its current step when the application shuts down, and releases its lock', async () => {
    const { audiences } = life;
    let taken = 0;
    const sync = audiences.sync('All', ids(3 * STEP), {
      onProgress: ({ added }) => {
        taken = added;
        void audiences.beforeApplicationShutdown();
      },
    });
    await expect(sync).rejects.toMatchObject({ code: 'ANALYTICS_CLOSED' });
    expect(taken).toBe(STEP);
    expect(await on.calls()).toHaveLength(STEP);
    expect(await audiences.add('All', 'in flight')).toBe(true);
    const next = on.live().audiences;
    expect(await next.sync('All', ids(3 * STEP), { wait: 0 })).toMatchObject({ added: 2 * STEP, removed: 1 });
  });

  it('ends a change with an error if the change has lost its lock', async () => {
    const lost = on.live({
      wrapStore: (store) => ({
        ...bound(store),
        offer: async (hold, entries) => {
          const result = await store.offer(hold, entries);
          await store.unlock(hold.trait, 'change', hold.token);
          return result;
        },
      }),
    });
    await expect(lost.audiences.add('All', 'ann')).rejects.toMatchObject({ code: 'AUDIENCE_LOCK_LOST' });
    expect(await membersOf(life, 'All')).toEqual([]);
    expect(await life.audiences.remove('All', 'ann')).toBe(true);
    expect((await on.calls()).map(({ traits }) => traits)).toEqual([{ all: true }, { all: false }]);
  });
});

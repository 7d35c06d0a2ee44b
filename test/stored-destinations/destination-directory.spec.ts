import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DestinationDirectory } from '../../src/stored-destinations/destination-directory.js';
import { FakeClock } from '../support/fake-clock.js';
import { FarStore } from './far-store.js';

describe('a directory of destinations', () => {
  let clock: FakeClock;
  let store: FarStore;
  let directory: DestinationDirectory;
  let told: string[];

  beforeEach(() => {
    clock = new FakeClock();
    store = new FarStore();
    told = [];
    directory = new DestinationDirectory({
      store,
      feed: store,
      clock,
      onAway: (error) => told.push(`away: ${String(error)}`),
      onBack: () => told.push('back'),
    });
  });
  afterEach(() => {
    directory.close();
  });

  const idsOf = async (tenant: string): Promise<string[]> =>
    (await directory.ofTenant(tenant)).map(({ id }) => id);

  it('looks up a tenant once, even if it has no destinations, and then answers at once', async () => {
    await store.add('a', 'acme');
    expect(await idsOf('acme')).toEqual(['a']);
    expect(await idsOf('nobody')).toEqual([]);
    expect(store.asked).toEqual(['changes', 'tenant acme', 'tenant nobody']);
    expect(directory.ofTenant('acme')).not.toBeInstanceOf(Promise);
    expect(directory.ofTenant('nobody')).toEqual([]);
    expect(store.asked).toHaveLength(3);
  });

  it('shares a look-up between all callers at the same time', async () => {
    await Promise.all(Array.from({ length: 100 }, async () => directory.ofTenant('acme')));
    expect(store.asked).toEqual(['changes', 'tenant acme']);
  });

  it("checks the application's store by its destinations without a tenant, and keeps what it knows", async () => {
    directory = new DestinationDirectory({ store, feed: new FarStore(), clock, mayHang: true });
    const shared = { id: 'a', urls: [], createdAt: 0, updatedAt: 0, version: 1 };
    await store.insert(shared, Infinity);
    const before = await directory.ofTenant(undefined);
    await directory.check();
    expect(store.asked).toEqual(['tenant undefined', 'tenant undefined']);
    expect(before).toEqual([shared]);
    expect(directory.ofTenant(undefined)).toBe(before);
    store.isAway = true;
    await expect(directory.check()).rejects.toThrow();
  });

  it('looks up nothing for a tenant that cannot exist', async () => {
    await idsOf('acme');
    expect(directory.ofTenant('a\u0000')).toEqual([]);
    expect(directory.ofTenant('x'.repeat(201))).toEqual([]);
    expect(store.asked).toEqual(['changes', 'tenant acme']);
  });

  it('notices within two seconds what another process has changed, and forgets nothing else', async () => {
    await idsOf('acme');
    await idsOf('other');
    await directory.find('a');
    await store.add('a', 'acme');
    await clock.pass(1_000);
    expect(directory.ofTenant('other')).toEqual([]);
    expect(await idsOf('acme')).toEqual(['a']);
    expect(await directory.find('a')).toMatchObject({ tenant: 'acme' });
    expect(store.asked.filter((what) => what === 'tenant other')).toHaveLength(1);
  });

  it('forgets at once what this process has changed, even during a look-up', async () => {
    let release = (): void => undefined;
    store.held = new Promise((resolve) => (release = resolve));
    await directory.find('warm-up');
    const early = idsOf('acme');
    await store.add('a', 'acme');
    directory.forget({ id: 'a', tenant: 'acme' });
    release();
    expect(await early).toEqual(['a']);
  });

  it('repeats a look-up after a change during it, and returns nothing older to later callers', async () => {
    await directory.find('warm-up');
    let release = (): void => undefined;
    const hold = (): void => void (store.held = new Promise((resolve) => (release = resolve)));
    const change = async (id: string): Promise<void> => {
      await store.add(id, 'acme');
      directory.forget({ id: undefined, tenant: 'acme' });
    };
    hold();
    const early = idsOf('acme');
    await change('a');
    release();
    hold();
    await clock.pass(0);
    const alsoEarly = idsOf('acme');
    await change('b');
    const late = idsOf('acme');
    release();
    store.held = Promise.resolve();
    expect(await Promise.all([early, alsoEarly, late])).toEqual([['a'], ['a'], ['a', 'b']]);
    expect(await idsOf('acme')).toEqual(['a', 'b']);
    expect(store.asked.filter((what) => what === 'tenant acme')).toHaveLength(3);
  });

  it('keeps the destinations of all tenants but the changed one', async () => {
    await store.add('a', 'acme');
    await store.add('b', 'other');
    for (const id of ['a', 'b', 'c']) await directory.find(id);
    store.asked.length = 0;
    directory.forget({ id: undefined, tenant: 'acme' });
    for (const id of ['a', 'b', 'c', 'a', 'b', 'c']) await directory.find(id);
    // It might be a new destination of that tenant.
    expect(store.asked).toEqual(['id a', 'id c']);
  });

  it('finds a destination in time, however often destinations of other tenants change meanwhile', async () => {
    await store.add('b', 'other');
    await directory.find('warm-up');
    let release = (): void => undefined;
    store.heldById = new Promise((resolve) => (release = resolve));
    const found = directory.find('b');
    const tenants = Array.from({ length: 30_000 }, (_, n) => `tenant-${n}`);
    for (const tenant of tenants.slice(0, 10)) directory.forget({ id: undefined, tenant });
    release();
    expect(await found).toMatchObject({ tenant: 'other' });
    expect(store.asked.filter((what) => what === 'id b')).toHaveLength(1);
    for (const tenant of tenants) directory.forget({ id: undefined, tenant });
    expect(await directory.find('b')).toMatchObject({ tenant: 'other' });
  });

  it('forgets everything if the feed no longer has all changes', async () => {
    await idsOf('acme');
    await store.add('a', 'acme');
    store.forgotten = 5;
    await clock.pass(1_000);
    expect(await idsOf('acme')).toEqual(['a']);
  });

  it('reads the clock once for many calls, and again before its memory is long out of date', async () => {
    await idsOf('acme');
    expect(directory.ofTenant('acme')).toEqual([]);
    clock.stall(3_000);
    const answers = Array.from({ length: 200 }, () => directory.ofTenant('acme'));
    expect(answers[0]).toEqual([]);
    expect(answers.at(-1)).toBeInstanceOf(Promise);
    expect(await answers.at(-1)).toEqual([]);
  });

  it('uses nothing it remembers while the feed is away, and waits for the feed', async () => {
    await store.add('a', 'acme');
    await idsOf('acme');
    store.isAway = true;
    await clock.pass(1_900);
    expect(await idsOf('acme')).toEqual(['a']);
    await clock.pass(200);
    const waiting = directory.ofTenant('acme');
    expect(waiting).toBeInstanceOf(Promise);
    await clock.pass(5_000);
    expect(clock.holding).toBeGreaterThan(0);
    await expect(directory.find('a')).rejects.toThrow('the store is away');
    await store.add('b', 'acme');
    store.isAway = false;
    await clock.pass(500);
    expect((await waiting).map(({ id }) => id)).toEqual(['a', 'b']);
    expect(told).toEqual(['away: Error: the store is away', 'back']);
    expect(clock.holding).toBe(0);
  });

  it('reports only once that a tenant cannot be looked up, whatever is found meanwhile', async () => {
    store.damaged = 'acme';
    const waiting = directory.ofTenant('acme');
    for (const other of ['one', 'two', 'three']) {
      await clock.pass(250);
      expect(await idsOf(other)).toEqual([]);
    }
    expect(told).toEqual(['away: Error: invalid byte sequence']);
    store.damaged = undefined;
    await clock.pass(250);
    expect(await waiting).toEqual([]);
    expect(told).toEqual(['away: Error: invalid byte sequence', 'back']);
  });

  it('ends a look-up that is no longer awaited, but not a later look-up of the same tenant', async () => {
    const earlier = Promise.resolve(directory.ofTenant('acme'));
    await clock.pass(0);
    await earlier;
    store.damaged = 'acme';
    directory.forget({ id: undefined, tenant: 'acme' });
    const results: string[] = [];
    const later = Promise.resolve(directory.ofTenant('acme'));
    later.then(
      () => results.push('found'),
      () => results.push('given up'),
    );
    directory.abandon(earlier);
    await clock.pass(1_000);
    expect(results).toEqual([]);

    directory.abandon(later);
    await clock.pass(1_000);
    expect(results).toEqual(['given up']);
    store.asked.length = 0;
    await clock.pass(1_000);
    expect(store.asked).not.toContain('tenant acme');
  });

  it('makes no queries while nobody tracks or delivers, and starts again when somebody does', async () => {
    await idsOf('acme');
    await clock.pass(60_000);
    const { length } = store.asked;
    expect(length).toBeLessThan(40);
    await clock.pass(600_000);
    expect(store.asked).toHaveLength(length);
    await store.add('a', 'acme');
    expect(await idsOf('acme')).toEqual(['a']);
  });

  it('remembers a limited number of tenants, and keeps the most recently used', async () => {
    await idsOf('busy');
    for (let n = 0; n < 30_000; n++) {
      await directory.ofTenant(`tenant-${n}`);
      if (n % 1_000 === 0) await directory.ofTenant('busy');
    }
    const count = (what: string): number => store.asked.filter((one) => one === what).length;
    expect(count('tenant busy')).toBe(1);
    await directory.ofTenant('tenant-0');
    expect(count('tenant tenant-0')).toBe(2);
  });

  it('ends waiting look-ups when the application closes', async () => {
    store.isAway = true;
    const waiting = expect(directory.ofTenant('acme')).rejects.toMatchObject({ code: 'ANALYTICS_CLOSED' });
    await clock.pass(100);
    directory.close();
    await clock.pass(500);
    await waiting;
    expect(clock.pending).toBe(0);
  });

  it('does not keep the process alive once the application is closed, even while the store hangs', async () => {
    store.held = new Promise(() => undefined);
    void directory.ofTenant('acme');
    await clock.pass(100);
    expect(clock.holding).toBe(1);
    directory.close();
    expect(clock.holding).toBe(0);
  });

  it.each([
    [8, 'that always answers', false],
    [48, 'that may hang, at first eight', true],
  ])('looks up %i tenants, and as many destinations, at once in a store %s', async (most, _, mayHang) => {
    const waiting = new Promise<void>(() => undefined);
    Object.assign(store, { held: waiting, heldById: waiting });
    directory = new DestinationDirectory({ store, feed: store, clock, mayHang });
    const asked = (what: string): number => store.asked.filter((one) => one.startsWith(what)).length;
    for (let n = 0; n < 100; n++) {
      void directory.ofTenant(`tenant-${n}`);
      void directory.find(`id-${n}`);
    }
    await clock.pass(0);
    expect([asked('tenant '), asked('id ')]).toEqual([8, 8]);
    await clock.pass(60_000);
    expect([asked('tenant '), asked('id ')]).toEqual([most, most]);
  });

  it('gives the turns of slow look-ups to others as soon as there is room for the slow ones', async () => {
    const ends: (() => void)[] = [];
    store.findByTenant = (tenant) => {
      store.asked.push(`tenant ${String(tenant)}`);
      return new Promise((resolve) => {
        ends.push(() => {
          resolve([]);
        });
      });
    };
    directory = new DestinationDirectory({ store, feed: store, clock, mayHang: true });
    for (let n = 0; n < 100; n++) void directory.ofTenant(`tenant-${n}`);
    await clock.pass(10_000);
    // Two look-ups that go on beside the others, and the last look-up with a turn.
    for (const index of [0, 1, 47]) ends[index]?.();
    await clock.pass(0);
    expect(ends).toHaveLength(51);
    await clock.pass(10_000);
    expect(ends).toHaveLength(51);
    // More are added meanwhile.
    for (const end of ends) {
      end();
      await clock.pass(0);
    }
    expect(ends).toHaveLength(100);
    expect(clock.holding).toBe(0);
  });
});

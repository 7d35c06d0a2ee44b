import { AsyncLocalStorage } from 'node:async_hooks';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { DestinationRecord } from '../../src/options/destination-store.js';
import { DestinationDirectory } from '../../src/stored-destinations/destination-directory.js';
import { TimedStore } from '../../src/stored-destinations/timed-store.js';
import { FakeClock } from '../support/fake-clock.js';
import { FarStore } from './far-store.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const RECORD = { id: 'a', tenant: 'acme', createdAt: 0, updatedAt: 0 };

describe('a directory of destinations that is not told of a change', () => {
  let clock: FakeClock;
  let store: FarStore;
  let directory: DestinationDirectory;
  let told: string[];

  beforeEach(async () => {
    clock = new FakeClock();
    store = new FarStore();
    told = [];
    directory = new DestinationDirectory({ store, feed: store, clock, onAway: () => told.push('away') });
    directory.observe((change) => told.push(change?.id ?? 'everything'));
    await store.insert({ ...RECORD, urls: ['https://old.example'], version: 1 }, Infinity);
    await urlsInUse();
    told.length = 0;
  });
  afterEach(() => {
    directory.close();
  });

  /** The URLs of the tenant's destinations, and of the destination, for as long as they are remembered. */
  async function urlsInUse(): Promise<unknown[]> {
    const all = await directory.ofTenant('acme');
    const one = await directory.find('a');
    return [...all.map(({ urls }) => urls[0]), typeof one === 'object' ? one.urls[0] : one];
  }

  /** Lets time pass in which destinations are in use. */
  async function use(milliseconds: number, tenants = ['acme'], ids = ['a']): Promise<void> {
    for (let passed = 0; passed < milliseconds; passed += SECOND) {
      await clock.pass(SECOND);
      if (directory.isFresh) for (const tenant of tenants) directory.remembered(tenant);
      for (const id of ids) await directory.find(id);
    }
  }

  const change = (record: Partial<DestinationRecord> = {}): Promise<boolean> =>
    store.replace({ ...RECORD, urls: ['https://new.example'], ...record, version: 2 });

  it('looks up what is in use again after five minutes, and tells of the change', async () => {
    await change();
    await use(4 * MINUTE);
    expect(await urlsInUse()).toEqual(['https://old.example', 'https://old.example']);
    await use(2 * MINUTE);
    expect(await urlsInUse()).toEqual(['https://new.example', 'https://new.example']);
    expect(new Set(told)).toEqual(new Set(['a']));
  });

  it('finds that a destination was deleted, and that one was added', async () => {
    await store.remove('a');
    await store.insert({ ...RECORD, id: 'b', urls: ['https://b.example'], version: 1 }, Infinity);
    await use(6 * MINUTE);
    expect(await urlsInUse()).toEqual(['https://b.example', 'deleted']);
    expect(new Set(told)).toEqual(new Set(['a', 'b']));
  });

  it('keeps what it has, and repeats nothing sooner, if nothing has changed', async () => {
    const before = [await directory.ofTenant('acme'), await directory.find('a')];
    store.asked.length = 0;
    // As every look-up does in a database.
    store.records.set('a', { ...RECORD, urls: ['https://old.example'], version: 1 });
    await use(9 * MINUTE);
    expect(await directory.ofTenant('acme')).toBe(before[0]);
    expect(await directory.find('a')).toBe(before[1]);
    expect(told).toEqual([]);
    expect(store.asked.filter((what) => what !== 'changes').sort()).toEqual(['id a', 'tenant acme']);
  });

  it('uses what it remembers while the store fails or does not answer, and waits for nothing', async () => {
    await change();
    let release = (): void => undefined;
    store.damaged = 'acme';
    store.heldById = new Promise((resolve) => (release = resolve));
    await use(20 * MINUTE);
    expect(await urlsInUse()).toEqual(['https://old.example', 'https://old.example']);
    expect(directory.ofTenant('acme')).not.toBeInstanceOf(Promise);
    expect(store.asked.filter((what) => what === 'tenant acme').length).toBeLessThan(6);
    store.damaged = undefined;
    release();
    await use(6 * MINUTE);
    expect(await urlsInUse()).toEqual(['https://new.example', 'https://new.example']);
    expect(told).not.toContain('away');
  });

  it('looks up very many tenants again little by little', async () => {
    const tenants = Array.from({ length: 1_000 }, (_, n) => `tenant-${n}`);
    for (const tenant of tenants) await directory.ofTenant(tenant);
    await use(5 * MINUTE - SECOND, tenants);
    store.asked.length = 0;
    let most = 0;
    for (let seconds = 0; seconds < 300; seconds++) {
      const { length } = store.asked;
      await use(SECOND, tenants);
      most = Math.max(most, store.asked.length - length);
    }
    expect(most).toBeLessThan(250);
    expect(new Set(store.asked).size).toBeGreaterThan(1_000);
  });

  it.each(['fail', 'hang'])('finds a change of a tenant in time while forty others %s', async (fate) => {
    directory.close();
    const timed = new TimedStore(store, clock);
    directory = new DestinationDirectory({ store: timed, feed: store, clock, mayHang: true });
    const tenants = [...Array.from({ length: 40 }, (_, n) => `tenant-${n}`), 'acme'];
    for (const tenant of tenants) await directory.ofTenant(tenant);
    const found = store.findByTenant.bind(store);
    store.findByTenant = (tenant) => {
      if (tenant === 'acme') return found(tenant);
      return fate === 'fail' ? Promise.reject(new Error('away')) : new Promise(() => undefined);
    };
    await change();
    await use(6 * MINUTE, tenants, []);
    expect((await directory.ofTenant('acme')).map(({ urls }) => urls[0])).toEqual(['https://new.example']);
  });

  it('runs a look-up in the transaction of no caller', async () => {
    const transactions = new AsyncLocalStorage<string>();
    const seen = new Set<unknown>();
    store.findByTenant = () => {
      seen.add(transactions.getStore());
      return Promise.resolve([]);
    };
    await transactions.run('first', () => use(6 * MINUTE));
    expect(seen).toEqual(new Set([undefined]));
  });
});

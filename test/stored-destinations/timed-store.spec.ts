import { beforeEach, describe, expect, it } from '@jest/globals';
import { TimedStore } from '../../src/stored-destinations/timed-store.js';
import { WritableDestinations } from '../../src/stored-destinations/writable-destinations.js';
import { FakeClock } from '../support/fake-clock.js';
import { MemoryDestinationStore } from './memory-destination-store.js';

const TIMEOUT = { code: 'DESTINATION_STORE_TIMEOUT', method: 'findById', timeout: 5_000 };

/** A store whose connections may hang, or break. */
class HangingStore extends MemoryDestinationStore {
  asked = 0;
  /** What becomes of a look-up. */
  fate: 'answered' | 'hangs' | 'breaks' = 'answered';
  /** Look-ups of it alone hang. */
  stuck: string | undefined;

  override async findById(id: string): ReturnType<MemoryDestinationStore['findById']> {
    this.asked++;
    if (this.fate === 'hangs' || id === this.stuck) await new Promise(() => undefined);
    if (this.fate === 'breaks') throw new Error('connection refused');
    return super.findById(id);
  }
}

describe('a store of the application', () => {
  let clock: FakeClock;
  let store: HangingStore;
  let timed: TimedStore;

  beforeEach(async () => {
    clock = new FakeClock();
    store = new HangingStore();
    timed = new TimedStore(store, clock);
    await store.insert({ id: 'a', tenant: 'acme', urls: [], createdAt: 0, updatedAt: 0, version: 1 }, 1);
  });

  /** Look-ups that the store does not answer in time. */
  async function fallSilent(count: number): Promise<void> {
    store.fate = 'hangs';
    const lookUps = Array.from({ length: count }, () =>
      expect(timed.findById('a')).rejects.toMatchObject(TIMEOUT),
    );
    await clock.pass(5_000);
    await Promise.all(lookUps);
  }

  it('is asked as it is while it answers', async () => {
    expect(await timed.findById('a')).toMatchObject({ id: 'a' });
    expect(await timed.findById('b')).toBeUndefined();
    expect(await timed.findByTenant('acme')).toMatchObject([{ id: 'a' }]);
    expect(clock.pending).toBe(0);
  });

  it('may answer `null` for a destination that it does not have', async () => {
    // Its compiler says nothing without `strictNullChecks`.
    Object.assign(store, { findById: () => Promise.resolve(null) });
    expect(await timed.findById('b')).toBeUndefined();
  });

  it('may give `null` for fields without a value', async () => {
    const columns = { tenant: null, name: null, standardWebhooks: null, retiring: null, rateLimit: null };
    const row = { ...columns, id: 'b', urls: ['https://acme.test/'] };
    Object.assign(store, {
      findById: () => Promise.resolve(row),
      findByTenant: () => Promise.resolve([row]),
    });
    expect(await timed.findById('b')).toStrictEqual({ id: 'b', urls: row.urls });
    expect(await timed.findByTenant(undefined)).toStrictEqual([{ id: 'b', urls: row.urls }]);
    Object.assign(store, { list: () => Promise.resolve([row]) });
    const notices = { tell: () => Promise.resolve() };
    const writable = new WritableDestinations({ store, isOwn: true, notices, clock });
    expect(await writable.list({ limit: 1 })).toStrictEqual([{ id: 'b', urls: row.urls }]);
  });

  it.each([
    [0, false],
    [1, true],
  ])('may give %p for `enabled`, as databases without booleans do', async (column, enabled) => {
    const row = { id: 'b', urls: ['https://acme.test/'], enabled: column };
    Object.assign(store, {
      findById: () => Promise.resolve(row),
      findByTenant: () => Promise.resolve([row]),
    });
    expect(await timed.findById('b')).toStrictEqual({ ...row, enabled });
    expect(await timed.findByTenant(undefined)).toStrictEqual([{ ...row, enabled }]);
  });

  it.each([
    ['texts', String],
    ['`bigint`s', BigInt],
    ['dates', (time: number) => new Date(time)],
  ])('may give %s for times', async (_, column) => {
    const row = { id: 'b', urls: ['https://acme.test/'], failingSince: column(1_795_253_400_000) };
    Object.assign(store, { findById: () => Promise.resolve(row) });
    expect(await timed.findById('b')).toStrictEqual({ ...row, failingSince: 1_795_253_400_000 });
  });

  it('that does not answer in time is asked by one at a time, until it answers', async () => {
    await fallSilent(3);
    const next = expect(timed.findById('a')).rejects.toMatchObject(TIMEOUT);
    await expect(timed.findById('a')).rejects.toMatchObject(TIMEOUT);
    expect(store.asked).toBe(4);
    await clock.pass(5_000);
    await next;
    store.fate = 'answered';
    expect(await timed.findById('a')).toMatchObject({ id: 'a' });
    expect(await Promise.all([timed.findById('a'), timed.findById('a')])).toHaveLength(2);
  });

  it('that breaks after it was silent is asked by all again', async () => {
    await fallSilent(1);
    store.fate = 'breaks';
    await expect(timed.findById('a')).rejects.toThrow('connection refused');
    const asked = store.asked;
    const all = [1, 2].map(() => expect(timed.findById('a')).rejects.toThrow('connection refused'));
    await Promise.all(all);
    expect(store.asked).toBe(asked + 2);
  });

  it('that is stuck with one look-up answers all others, before and while that is repeated', async () => {
    store.stuck = 'b';
    for (let attempt = 0; attempt < 3; attempt++) {
      const stuck = expect(timed.findById('b')).rejects.toMatchObject(TIMEOUT);
      const others = [timed.findById('a'), timed.findById('a'), timed.findByTenant('acme')];
      expect(await Promise.all(others)).toHaveLength(3);
      await clock.pass(5_000);
      await stuck;
    }
    store.stuck = undefined;
    expect(await timed.findById('b')).toBeUndefined();
  });

  it('that has answered nothing else meanwhile is silent, and is tried by another look-up beside that one', async () => {
    await fallSilent(1);
    store.fate = 'answered';
    store.stuck = 'a';
    const again = expect(timed.findById('a')).rejects.toMatchObject(TIMEOUT);
    expect(await timed.findById('b')).toBeUndefined();
    expect(await Promise.all([timed.findById('c'), timed.findById('d')])).toHaveLength(2);
    await clock.pass(5_000);
    await again;
  });

  it('keeps no process alive', async () => {
    store.fate = 'hangs';
    const lookUp = expect(timed.findById('a')).rejects.toMatchObject(TIMEOUT);
    expect([clock.pending, clock.holding]).toEqual([1, 0]);
    await clock.pass(5_000);
    await lookUp;
  });
});

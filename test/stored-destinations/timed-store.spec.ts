import { beforeEach, describe, expect, it } from '@jest/globals';
import { TimedStore } from '../../src/stored-destinations/timed-store.js';
import { WritableDestinations } from '../../src/stored-destinations/writable-destinations.js';
import { FakeClock } from '../support/fake-clock.js';
import { MemoryDestinationStore } from './memory-destination-store.js';

const TIMEOUT = { code: 'DESTINATION_STORE_TIMEOUT', method: 'findById', timeout: 5_000 };

/** A store whose connections may hang or break. */
class HangingStore extends MemoryDestinationStore {
  asked = 0;
  /** How look-ups end. */
  fate: 'answered' | 'hangs' | 'breaks' = 'answered';
  /** The id whose look-ups hang, although others are answered. */
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

  /** Makes look-ups that the store does not answer in time. */
  async function fallSilent(count: number): Promise<void> {
    store.fate = 'hangs';
    const lookUps = Array.from({ length: count }, () =>
      expect(timed.findById('a')).rejects.toMatchObject(TIMEOUT),
    );
    await clock.pass(5_000);
    await Promise.all(lookUps);
  }

  it('is queried without limits while it answers', async () => {
    expect(await timed.findById('a')).toMatchObject({ id: 'a' });
    expect(await timed.findById('b')).toBeUndefined();
    expect(await timed.findByTenant('acme')).toMatchObject([{ id: 'a' }]);
    expect(clock.pending).toBe(0);
  });

  it('may answer `null` for a destination that it does not have', async () => {
    // Without `strictNullChecks`, the compiler accepts this.
    Object.assign(store, { findById: () => Promise.resolve(null) });
    expect(await timed.findById('b')).toBeUndefined();
  });

  it('may return `null` for fields without a value', async () => {
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
  ])('may return %p for `enabled`, as databases without booleans do', async (column, enabled) => {
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
  ])('may return %s for times', async (_, column) => {
    const row = { id: 'b', urls: ['https://acme.test/'], failingSince: column(1_795_253_400_000) };
    Object.assign(store, { findById: () => Promise.resolve(row) });
    expect(await timed.findById('b')).toStrictEqual({ ...row, failingSince: 1_795_253_400_000 });
  });

  it('is queried one look-up at a time after it did not answer in time, until it answers', async () => {
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

  it('is queried by all look-ups again if it breaks after it was silent', async () => {
    await fallSilent(1);
    store.fate = 'breaks';
    await expect(timed.findById('a')).rejects.toThrow('connection refused');
    const asked = store.asked;
    const all = [1, 2].map(() => expect(timed.findById('a')).rejects.toThrow('connection refused'));
    await Promise.all(all);
    expect(store.asked).toBe(asked + 2);
  });

  it('answers all other look-ups while one look-up is stuck and repeated', async () => {
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

  it('counts as silent if it has answered nothing else meanwhile, and is tried by another look-up', async () => {
    await fallSilent(1);
    store.fate = 'answered';
    store.stuck = 'a';
    const again = expect(timed.findById('a')).rejects.toMatchObject(TIMEOUT);
    expect(await timed.findById('b')).toBeUndefined();
    expect(await Promise.all([timed.findById('c'), timed.findById('d')])).toHaveLength(2);
    await clock.pass(5_000);
    await again;
  });

  describe('of which one part never answers', () => {
    const STUCK = Array.from({ length: 80 }, (_, n) => `stuck-${n}`);
    /** The ids that the store is being asked for. */
    let underway: string[];
    let areStuck: boolean;

    beforeEach(() => {
      underway = [];
      areStuck = true;
      store.findById = async (id) => {
        underway.push(id);
        if (areStuck && id.startsWith('stuck')) await new Promise(() => undefined);
        return undefined;
      };
    });

    /** Repeats all stuck look-ups, as waiting callers do. Returns the ids that the store was asked for. */
    async function ask(ids: readonly string[] = STUCK): Promise<string[]> {
      underway = [];
      for (const id of ids) timed.findById(id).catch(() => undefined);
      await clock.pass(0);
      return underway;
    }

    it('gets a few of the stuck look-ups at a time, all of them in turn', async () => {
      await ask();
      await clock.pass(5_000);
      const asked: string[] = [];
      for (let n = 0; n < 400; n++) {
        const again = await ask();
        expect(again.length).toBeLessThanOrEqual(4);
        asked.push(...again);
        await clock.pass(250);
      }
      // Each look-up gets as many turns as any other, in a hundred seconds.
      expect(new Set(asked.slice(0, 80)).size).toBe(80);
    });

    it('does not get all stuck look-ups again, whatever it answers meanwhile', async () => {
      await ask();
      await clock.pass(5_000);
      for (let n = 0; n < 10; n++) {
        expect(await timed.findById(`ok-${n}`)).toBeUndefined();
        expect((await ask()).length).toBeLessThanOrEqual(4);
        // Long enough without any other answer for the store to seem silent.
        await clock.pass(6_000);
      }
    });

    it('soon gets all look-ups that were made while the whole store was silent', async () => {
      await ask(['stuck-0']);
      await clock.pass(5_000);
      for (let n = 0; n < 12; n++) {
        await ask();
        await clock.pass(5_000);
      }
      areStuck = false;
      expect(await timed.findById('ok')).toBeUndefined();
      expect((await ask()).length).toBeGreaterThan(70);
    });

    it('gets a limited number of other look-ups while it seems silent, first those that it did not get yet', async () => {
      await ask(['stuck-0']);
      await clock.pass(5_000);
      const asked: string[] = [];
      for (let n = 0; n < 4; n++) {
        asked.push(...(await ask(STUCK.slice(1))).filter((id) => !asked.includes(id)));
        expect(asked.length).toBeLessThanOrEqual(36 * (n + 1));
        await clock.pass(5_000);
      }
      expect(asked).toHaveLength(79);
    });

    it('gets only the oldest of more than a thousand stuck look-ups again', async () => {
      const many = Array.from({ length: 1_100 }, (_, n) => `stuck-${n}`);
      await ask(many);
      await clock.pass(5_000);
      // This answer keeps the store from counting as silent.
      await timed.findById('ok');
      expect((await ask(many)).length).toBeLessThanOrEqual(104);
    });
  });

  it('does not keep the process alive', async () => {
    store.fate = 'hangs';
    const lookUp = expect(timed.findById('a')).rejects.toMatchObject(TIMEOUT);
    expect([clock.pending, clock.holding]).toEqual([1, 0]);
    await clock.pass(5_000);
    await lookUp;
  });
});

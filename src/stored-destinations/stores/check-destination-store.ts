import { deepStrictEqual as equal } from 'node:assert';
import { DestinationStoreTimeoutError } from '../../errors/destination.errors.js';
import type { StoredDestination, WritableDestinationStore } from '../../options/destination-store.js';
import { type Clock, SYSTEM_CLOCK } from '../../shared/clock.js';
import { inTime } from '../store-deadline.js';
import { FIELDS } from './destination-fields.js';

/** A rule that every store has to follow. */
export interface DestinationStoreCheck {
  /** A sentence about a store. */
  readonly name: string;
  /** Takes an empty store. Rejects if the store breaks the rule, or does not answer within three seconds. */
  readonly run: (store: WritableDestinationStore) => Promise<void>;
}

const MANY = 1_000;

/** Milliseconds for a call: less than test runners give a test, so that the error names the store's method. */
const TIMEOUT = 3_000;
/** Its timers keep the process alive: some test runners end while they only wait for a promise. */
const CLOCK: Clock = {
  ...SYSTEM_CLOCK,
  afterUnlessIdle: (milliseconds, callback) => SYSTEM_CLOCK.after(milliseconds, callback),
};

function destination(id: string, fields: Partial<StoredDestination> = {}): StoredDestination {
  const times = { createdAt: 1_795_253_400_000, updatedAt: 1_795_253_400_000, version: 1 };
  return { id, tenant: 'acme', urls: [`https://hooks.example.com/${id}`], ...times, ...fields };
}

/** Returns the fields that a store has of a destination. `null` and `undefined` count as not given. */
function given(found: object | 'deleted' | undefined): object {
  return Object.fromEntries(
    Object.entries(found ?? {}).filter(([, value]) => (value ?? undefined) !== undefined),
  );
}

const idsOf = (found: readonly { id: string }[]): string[] => found.map(({ id }) => id).sort();

async function filled(store: WritableDestinationStore, ...all: StoredDestination[]): Promise<void> {
  for (const one of all) equal(await store.insert(one, MANY), true);
}

const CHECKS: readonly DestinationStoreCheck[] = [
  {
    name: 'returns a destination as it was given, by its id and by its tenant',
    run: async (store) => {
      const all = destination('a', FIELDS);
      await filled(store, all);
      equal(await store.findById('a'), all);
      equal(await store.findByTenant('acme'), [all]);
    },
  },
  {
    name: 'keeps tenants apart from each other, and destinations without a tenant from all of them',
    run: async (store) => {
      const own = { ...destination('own'), tenant: undefined };
      await filled(store, destination('a'), destination('b', { tenant: 'ACME' }), destination('c'), own);
      equal(idsOf(await store.findByTenant('acme')), ['a', 'c']);
      equal(idsOf(await store.findByTenant('ACME')), ['b']);
      equal(idsOf(await store.findByTenant(undefined)), ['own']);
      equal(await store.findByTenant('nobody'), []);
      // No tenant has this name, and it does not stand for destinations without a tenant.
      equal(await store.findByTenant(''), []);
      equal(await store.list({ tenant: '', limit: 10 }), []);
    },
  },
  {
    name: 'does not find an id that it never had',
    run: async (store) => {
      equal(await store.findById('a'), undefined);
      equal(await store.remove('a'), false);
      equal(await store.replace(destination('a', { version: 2 })), false);
      equal(await store.findById('a'), undefined);
    },
  },
  {
    name: 'lists in pages, in the order of the ids, of one tenant or of all',
    run: async (store) => {
      await filled(store, destination('c'), destination('a'), destination('b', { tenant: 'other' }));
      await filled(store, destination('d'), { ...destination('e'), tenant: undefined });
      const page = async (query: { tenant?: string; after?: string; limit: number }): Promise<string[]> =>
        (await store.list(query)).map(({ id }) => id);
      equal(await page({ limit: 2 }), ['a', 'b']);
      equal(await page({ limit: 2, after: 'b' }), ['c', 'd']);
      equal(await page({ limit: 2, after: 'd' }), ['e']);
      equal(await page({ tenant: 'acme', limit: 2 }), ['a', 'c']);
      equal(await page({ tenant: 'acme', limit: 2, after: 'c' }), ['d']);
      equal(await page({ tenant: 'nobody', limit: 2 }), []);
    },
  },
  {
    name: 'gives a tenant no more destinations than its limit, even if they are added at once',
    run: async (store) => {
      const results = await Promise.all(
        Array.from({ length: 10 }, (_, n) => store.insert(destination(`a${n}`), 3)),
      );
      equal(results.filter(Boolean).length, 3);
      equal((await store.findByTenant('acme')).length, 3);
      equal(await store.insert(destination('other', { tenant: 'other' }), 3), true);
      equal(await store.insert({ ...destination('own'), tenant: undefined }, Infinity), true);
    },
  },
  {
    name: 'has room again when one is deleted',
    run: async (store) => {
      await filled(store, destination('a'));
      equal(await store.insert(destination('b'), 1), false);
      equal(await store.remove('a'), true);
      equal(await store.insert(destination('b'), 1), true);
    },
  },
  {
    name: 'replaces a destination only if it has the version before',
    run: async (store) => {
      await filled(store, destination('a'));
      const next = destination('a', { version: 2, urls: ['https://hooks.example.com/new'] });
      equal(await store.replace(next), true);
      equal(await store.replace({ ...next, name: 'stale' }), false);
      equal(await store.replace({ ...next, name: 'too new', version: 4 }), false);
      equal(await store.findById('a'), next);
      equal(await store.findByTenant('acme'), [next]);
      equal(await store.list({ limit: 10 }), [next]);
    },
  },
  {
    name: 'drops a field that is `undefined` in the replacement of a destination',
    run: async (store) => {
      const all = destination('a', FIELDS);
      await filled(store, all);
      const none = Object.fromEntries(Object.keys(FIELDS).map((field) => [field, undefined]));
      equal(await store.replace({ ...all, ...none, version: 2 }), true);
      equal(given(await store.findById('a')), destination('a', { version: 2 }));
      equal((await store.findByTenant('acme')).map(given), [destination('a', { version: 2 })]);
    },
  },
  {
    name: 'lets exactly one of several concurrent changes win',
    run: async (store) => {
      await filled(store, destination('a'));
      const results = await Promise.all(
        Array.from({ length: 10 }, (_, n) =>
          store.replace(destination('a', { version: 2, name: `change ${n}` })),
        ),
      );
      equal(results.filter(Boolean).length, 1);
      const winner = destination('a', { version: 2, name: `change ${results.indexOf(true)}` });
      equal(await store.findById('a'), winner);
    },
  },
  {
    name: 'remembers that a destination was deleted, and no longer changes it',
    run: async (store) => {
      await filled(store, destination('a'), destination('b'));
      equal(await store.remove('a'), true);
      equal(await store.remove('a'), false);
      equal(await store.findById('a'), 'deleted');
      equal(await store.replace(destination('a', { version: 2 })), false);
      equal(await store.findById('a'), 'deleted');
      equal(idsOf(await store.findByTenant('acme')), ['b']);
      equal(idsOf(await store.list({ limit: 10 })), ['b']);
    },
  },
];

/** Returns the same store with a deadline for each call. */
function timed(store: WritableDestinationStore): WritableDestinationStore {
  const answer = <T>(method: keyof WritableDestinationStore, call: () => Promise<T>): Promise<T> =>
    inTime(CLOCK, TIMEOUT, call, () => new DestinationStoreTimeoutError(method, TIMEOUT));
  return {
    findByTenant: (tenant) => answer('findByTenant', () => store.findByTenant(tenant)),
    findById: (id) => answer('findById', () => store.findById(id)),
    list: (query) => answer('list', () => store.list(query)),
    insert: (destination, limit) => answer('insert', () => store.insert(destination, limit)),
    replace: (destination) => answer('replace', () => store.replace(destination)),
    remove: (id) => answer('remove', () => store.remove(id)),
  };
}

/**
 * Returns checks, for any test runner, of what a store with all methods has to do. Run each check on an empty store. A
 * check that fails rejects with an `AssertionError` of Node, or with `DestinationStoreTimeoutError` if the store
 * does not answer within three seconds.
 *
 * @example
 * for (const { name, run } of destinationStoreChecks()) it(name, async () => run(await emptyStore()));
 */
export function destinationStoreChecks(): readonly DestinationStoreCheck[] {
  return CHECKS.map(({ name, run }) => ({ name, run: (store) => run(timed(store)) }));
}

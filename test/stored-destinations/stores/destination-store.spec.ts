import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type {
  DestinationChange,
  DestinationFeed,
} from '../../../src/stored-destinations/destination-feed.js';
import { destinationStoreChecks } from '../../../src/stored-destinations/stores/check-destination-store.js';
import { createDestinationStore } from '../../../src/stored-destinations/stores/create-destination-store.js';
import type { StoredDestination, WritableDestinationStore } from '../../../src/options/destination-store.js';
import type { QueueBackend } from '../../../src/queue/queue-backend.js';
import { describeBackend } from '../../support/describe-backend.js';
import { emptyBackends } from '../../support/empty-backends.js';
import { MemoryDestinationStore } from '../memory-destination-store.js';
import { addChanges, keepState } from '../stored-state.js';

const TIMES = { createdAt: 1, updatedAt: 1 };
const ONE = { ...TIMES, id: 'a', tenant: 'acme', urls: ['https://hooks.example.com/a'], version: 1 };

describe('a destination store of the application', () => {
  it.each(destinationStoreChecks())('$name', async ({ run }) => {
    await run(new MemoryDestinationStore());
  });
});

/** A table without a column for one of the fields. */
class NarrowStore extends MemoryDestinationStore {
  constructor(private readonly missing: keyof StoredDestination) {
    super();
  }

  override insert(destination: StoredDestination, limit: number): Promise<boolean> {
    const columns = Object.entries(destination).filter(([field]) => field !== this.missing);
    return super.insert(Object.fromEntries(columns) as unknown as StoredDestination, limit);
  }
}

/** Writes the given fields and leaves the other columns unchanged, as some libraries do. */
class PatchingStore extends MemoryDestinationStore {
  override replace(destination: StoredDestination): Promise<boolean> {
    const known = this.records.get(destination.id);
    const changes = Object.entries(destination).filter(([, value]) => value !== undefined);
    return super.replace({
      ...(typeof known === 'object' && known),
      ...Object.fromEntries(changes),
    } as StoredDestination);
  }
}

describe('a destination store of the application that loses or keeps too much', () => {
  const failedBy = async (store: () => WritableDestinationStore): Promise<string[]> => {
    const failed: string[] = [];
    for (const { name, run } of destinationStoreChecks()) await run(store()).catch(() => failed.push(name));
    return failed;
  };

  it.each([
    'description',
    'retryWindow',
    'rateLimit',
    'failingSince',
    'noted',
    'standardWebhooks',
    'retiring',
  ] as const)('is detected if it has no place for `%s`', async (field) => {
    expect(await failedBy(() => new NarrowStore(field))).toEqual([
      'returns a destination as it was given, by its id and by its tenant',
    ]);
  });

  it('is detected if it leaves a field unchanged that a change resets', async () => {
    expect(await failedBy(() => new PatchingStore())).toEqual([
      'drops a field that is `undefined` in the replacement of a destination',
    ]);
  });
});

describeBackend('a destination store', (backend) => {
  const openEmpty = emptyBackends(backend);
  let opened: QueueBackend;
  let store: WritableDestinationStore & DestinationFeed;

  beforeEach(async () => {
    opened = await openEmpty();
    store = await createDestinationStore(opened.storage);
  });
  afterEach(() => opened.close());

  it.each(destinationStoreChecks())('$name', async ({ run }) => {
    await run(store);
  });

  it('finds disabled destinations without returning others', async () => {
    const disabled = (limit: number, after?: string): Promise<string[]> =>
      store.list({ enabled: false, limit, after }).then((found) => found.map(({ id }) => id));
    for (const id of ['a', 'b', 'c', 'd']) await store.insert({ ...ONE, id }, 10);
    expect(await disabled(1)).toEqual([]);
    await store.insert({ ...ONE, id: 'e', enabled: false }, 10);
    await store.replace({ ...ONE, id: 'c', version: 2, enabled: false });
    expect(await disabled(1)).toEqual(['c']);
    expect(await disabled(1, 'c')).toEqual(['e']);
    await store.replace({ ...ONE, id: 'c', version: 3, enabled: true });
    await store.remove('e');
    expect(await disabled(1)).toEqual([]);
  });

  it('returns each change once, in order, to readers who know the previous one', async () => {
    const { latest, changes } = await store.changesSince(undefined);
    expect(changes).toBeUndefined();
    await store.insert(ONE, 10);
    await store.replace({ ...ONE, version: 2 });
    await store.publish({ tenant: 'other', id: undefined });
    await store.publish({ tenant: undefined, id: 'b' });
    const beforeLast = await store.changesSince(latest);
    await store.remove('a');
    const a: DestinationChange = { tenant: 'acme', id: 'a' };
    const news = await store.changesSince(latest);
    expect(news.changes).toEqual([
      a,
      a,
      { tenant: 'other', id: undefined },
      { tenant: undefined, id: 'b' },
      a,
    ]);
    expect(await store.changesSince(news.latest)).toEqual({ latest: news.latest, changes: [] });
    expect(await store.changesSince(beforeLast.latest)).toEqual({ latest: news.latest, changes: [a] });
  });

  it('returns nothing about refused changes', async () => {
    const { latest } = await store.changesSince(undefined);
    await store.insert(ONE, 0);
    await store.replace({ ...ONE, version: 2 });
    await store.remove('a');
    expect(await store.changesSince(latest)).toEqual({ latest, changes: [] });
  });

  it('misses none of many simultaneous changes', async () => {
    let { latest } = await store.changesSince(undefined);
    const told: (string | undefined)[] = [];
    const ids = Array.from({ length: 200 }, (_, n) => `d${n}`);
    const done = new AbortController();
    const made = Promise.all(ids.map((id) => store.insert({ ...ONE, id }, 1_000))).then(() => {
      done.abort();
    });
    for (let isLast = false; !isLast;) {
      isLast = done.signal.aborted;
      const news = await store.changesSince(latest);
      told.push(...(news.changes ?? []).map(({ id }) => id));
      ({ latest } = news);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await made;
    expect(told.sort()).toEqual(ids.sort());
  });

  it('finds disabled destinations and those deleted long ago by an index on PostgreSQL', async () => {
    if (opened.storage.kind !== 'postgres') return;
    await store.insert(ONE, 10);
    const { rows } = await opened.storage.pool.query<{ indexdef: string }>(
      "SELECT indexdef FROM pg_indexes WHERE schemaname = 'nestjs_analytics' AND tablename = 'destination'",
    );
    const found = rows.map(({ indexdef }) => indexdef.replace(/.* USING /, ''));
    expect(found).toContain('btree (deleted_at) WHERE (deleted_at IS NOT NULL)');
    expect(found).toContain(`btree (id) WHERE (record ~~ '%"enabled":false%'::text)`);
  });

  it('returns `undefined` instead of changes if it no longer has all of them', async () => {
    const empty = await store.changesSince(undefined);
    await store.insert(ONE, 10);
    const first = await store.changesSince(empty.latest);
    await addChanges(opened.storage, '["acme","a"]', 4_998);
    const last: DestinationChange = { tenant: 'other', id: undefined };
    await store.publish(last);
    const news = await store.changesSince(first.latest);
    expect(news.changes).toHaveLength(4_999);
    expect(news.changes?.at(-1)).toEqual(last);
    await store.publish(last);
    await store.publish(last);
    expect((await store.changesSince(first.latest)).changes).toBeUndefined();
    expect((await store.changesSince(empty.latest)).changes).toBeUndefined();
    expect((await store.changesSince(news.latest)).changes).toEqual([last, last]);
  });

  it('returns `undefined` instead of changes if it lost the one that the reader knows, even once it has as many again', async () => {
    await store.insert(ONE, 10);
    const kept = await store.changesSince(undefined);
    const setBack = await keepState(opened.storage);
    await store.replace({ ...ONE, version: 2, name: 'lost' });
    await store.publish({ tenant: 'acme', id: undefined });
    const lost = await store.changesSince(kept.latest);
    await setBack();
    expect(await store.changesSince(lost.latest)).toEqual({ latest: kept.latest, changes: undefined });
    const change: DestinationChange = { tenant: 'acme', id: 'a' };
    await store.replace({ ...ONE, version: 2, name: 'new' });
    // The same change as the one that was lost.
    await store.publish({ tenant: 'acme', id: undefined });
    await store.publish({ tenant: 'other', id: undefined });
    expect((await store.changesSince(lost.latest)).changes).toBeUndefined();
    expect((await store.changesSince(kept.latest)).changes).toEqual([
      change,
      { tenant: 'acme', id: undefined },
      { tenant: 'other', id: undefined },
    ]);
  });

  it('returns `undefined` instead of changes if it lost one that only look-ups saw', async () => {
    await store.insert(ONE, 10);
    const { latest } = await store.changesSince(undefined);
    for (const lookUp of [() => store.findById('a'), () => store.findByTenant('acme')]) {
      const setBack = await keepState(opened.storage);
      await store.replace({ ...ONE, version: 2, name: 'lost' });
      await lookUp();
      await setBack();
      await store.publish({ tenant: 'other', id: undefined });
      expect((await store.changesSince(latest)).changes).toBeUndefined();
      const { changes } = await store.changesSince(latest);
      expect(changes?.at(-1)).toEqual({ tenant: 'other', id: undefined });
    }
  });

  it('reads changes of other versions, with less or more in them', async () => {
    const { latest } = await store.changesSince(undefined);
    await addChanges(opened.storage, '["acme","a"]', 1);
    const short = await store.changesSince(latest);
    await addChanges(opened.storage, '[null,"b","c1f0",{"by":"operator"}]', 1);
    const long = await store.changesSince(short.latest);
    expect([short.changes, long.changes]).toEqual([
      [{ tenant: 'acme', id: 'a' }],
      [{ tenant: undefined, id: 'b' }],
    ]);
    expect(await store.changesSince(long.latest)).toEqual({ latest: long.latest, changes: [] });
  });
});

import { expect, it } from '@jest/globals';
import { createDeletionStore } from '../../src/deliveries/deleted-users.js';
import { describeBackend } from '../support/describe-backend.js';
import { emptyBackends } from '../support/empty-backends.js';
import { Stage } from '../support/stage.js';

/** Redis spreads this many entries over 256 buckets, and would shrink the table with a few fewer than `LEFT` left. */
const MANY = 150;
/** More keys than one statement asks PostgreSQL for. */
const VERY_MANY = 15_000;
const LEFT = 26;
const ROUNDS = 20;

describeBackend('the deletion store', (backend) => {
  const stage = new Stage();
  const openEmpty = emptyBackends(backend);

  it('keeps the time of the latest deletion of a user, whichever is stored last', async () => {
    const { storage } = await stage.add(openEmpty());
    const store = await createDeletionStore(storage);
    await store.add([{ key: 'gone', at: 2_000_000_000_000, task: 'second' }]);
    await store.add([{ key: 'gone', at: 1_999_999_999_000, task: 'first' }]);
    expect(await store.find(['gone'])).toEqual(new Map([['gone', 2_000_000_000_000]]));
    const pending = await store.pending(1);
    expect(pending).toEqual([{ key: 'gone', at: 2_000_000_000_000, task: 'second\nfirst' }]);
    await store.done(pending);
    expect(await store.pending(1)).toEqual([]);
  });

  it('finds the first and the last of very many users', async () => {
    const { storage } = await stage.add(openEmpty());
    const store = await createDeletionStore(storage);
    const keys = Array.from({ length: VERY_MANY }, (_, n) => `user${n}`);
    const deleted = [keys[0] ?? '', keys.at(-1) ?? ''];
    await store.add(deleted.map((key) => ({ key, at: 1_000, task: 'of web' })));
    expect(await store.find(keys)).toEqual(new Map(deleted.map((key) => [key, 1_000])));
  });

  it('keeps each task of a user once, until all tasks of the user are done', async () => {
    const { storage } = await stage.add(openEmpty());
    const store = await createDeletionStore(storage);
    const tasks = ['of web', 'of the web', 'of web', 'web'];
    for (const task of tasks) await store.add([{ key: 'gone', at: 1_000, task }]);
    const [pending] = await store.pending(1);
    expect(pending?.task).toBe('of web\nof the web\nweb');
    await store.add([{ key: 'gone', at: 1_000, task: 'of app' }]);
    await store.done(pending === undefined ? [] : [pending]);
    const [left] = await store.pending(1);
    expect(left?.task).toBe('of web\nof the web\nweb\nof app');
    await store.done(left === undefined ? [] : [left]);
    await store.add([{ key: 'gone', at: 2_000, task: 'of web' }]);
    expect(await store.pending(1)).toEqual([{ key: 'gone', at: 2_000, task: 'of web' }]);
  });

  it('lists all pending deletions page by page, although none of them is done meanwhile', async () => {
    const { storage } = await stage.add(openEmpty());
    const store = await createDeletionStore(storage);
    const told = async (): Promise<string[]> => {
      const keys = new Set<string>();
      for await (const page of store.pages(7)) {
        expect(page).not.toEqual([]);
        for (const { key } of page) keys.add(key);
      }
      return [...keys].sort();
    };
    expect(await told()).toEqual([]);
    const deletions = Array.from({ length: 600 }, (_, n) => ({
      key: `user${n}`,
      // Some deletions have the same time.
      at: 2_000_000_000_000 + (n % 50),
      task: 'of web',
    }));
    await store.add(deletions);
    expect(await told()).toEqual(deletions.map(({ key }) => key).sort());
    await store.done(deletions.slice(1));
    expect(await told()).toEqual(['user0']);
  });

  it('finds pending deletions as long as a few of many are left', async () => {
    const { storage } = await stage.add(openEmpty());
    const store = await createDeletionStore(storage);
    const isAnyTold: boolean[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const deletions = Array.from({ length: MANY }, (_, n) => ({
        key: `${round}-${n}`,
        at: Date.now(),
        task: JSON.stringify({ userId: `user ${n}`.padEnd(80, '.'), sources: ['default'] }),
      }));
      await store.add(deletions);
      await store.done(deletions.slice(LEFT));
      isAnyTold.push((await store.pending(1)).length > 0);
      await store.done(deletions.slice(0, LEFT));
    }
    expect(isAnyTold).toEqual(Array<boolean>(ROUNDS).fill(true));
    expect(await store.pending(1)).toEqual([]);
  });
});

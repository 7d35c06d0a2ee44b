import { expect, it } from '@jest/globals';
import { createDeletionStore } from '../../src/deliveries/deleted-users.js';
import { describeBackend } from '../support/describe-backend.js';
import { openBackend } from '../support/open-backend.js';
import { Stage } from '../support/stage.js';

describeBackend('the store of deletions', (backend) => {
  const stage = new Stage();

  it('keeps the time of the latest deletion of a user, whichever is stored last', async () => {
    const { storage } = await stage.add(openBackend(backend.connection));
    const store = await createDeletionStore(storage);
    await store.add([{ key: 'gone', at: 2_000_000_000_000, task: 'second' }]);
    await store.add([{ key: 'gone', at: 1_999_999_999_000, task: 'first' }]);
    expect(await store.find(['gone'])).toEqual(new Map([['gone', 2_000_000_000_000]]));
    const pending = await store.pending(1);
    expect(pending).toEqual([{ key: 'gone', at: 2_000_000_000_000, task: 'first' }]);
    await store.done(pending);
    expect(await store.pending(1)).toEqual([]);
  });
});

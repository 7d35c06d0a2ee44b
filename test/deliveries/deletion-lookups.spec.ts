import { describe, expect, it } from '@jest/globals';
import { DeletionLookups } from '../../src/deliveries/deletion-lookups.js';
import { deferred } from '../support/deferred.js';
import { EchoThread, standStill } from '../support/echo-thread.js';
import { Stage } from '../support/stage.js';

describe('a look-up of deletions that waits for its turn', () => {
  const stage = new Stage();

  it('gets it if the look-ups before it are answered while the process stands still', async () => {
    const thread = await stage.add(EchoThread.start());
    const answered = deferred();
    let begun = 0;
    const lookups = new DeletionLookups(async (keys) => {
      if (++begun <= 2) await answered.promise;
      return new Map(keys.map((key) => [key, 1_000]));
    }, 200);
    const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    const found = ['a', 'b', 'c'].map(async (key, place) => {
      // Look-ups that are asked for at the same moment are one.
      for (let n = 0; n < place; n++) await turn();
      return lookups.find([key]);
    });
    for (let n = 0; n < 3; n++) await turn();
    void thread.answer('now').then(answered.resolve);
    standStill(1_000);
    expect(await Promise.all(found)).toEqual(['a', 'b', 'c'].map((key) => new Map([[key, 1_000]])));
  });
});

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { GuardedChild } from '../support/child-process.js';
import { deferred } from '../support/deferred.js';
import { describeServersOrEmbedded } from '../support/describe-backend.js';
import { quickConnections } from '../support/quick-connections.js';
import { AudiencesOn, type Life, type LifeOptions, membersOf } from './audiences-on.js';

/** A change that waits for the queue, which accepts nothing until the test allows it. */
interface SlowChange extends Pick<Life, 'audiences' | 'deleted'> {
  /** Result of adding cid to the audience "VIP". */
  added: Promise<boolean>;
  /** Lets the queue accept calls from now on. */
  letQueue: () => void;
}

describeServersOrEmbedded('an audience with a change that waits for the queue', (backend) => {
  let on: AudiencesOn;

  beforeEach(async () => {
    on = await AudiencesOn.open(backend.connection);
  });
  afterEach(() => on.close());

  /** Begins to add cid to the audience, whose only member is ann. */
  async function slowChange(options: LifeOptions = {}): Promise<SlowChange> {
    await on.live().audiences.add('VIP', 'ann');
    await on.calls();
    const begun = deferred();
    const queue = deferred();
    const { audiences, deleted } = on.live({
      ...options,
      wrapSink: (sink) => ({
        add: async (jobs) => {
          begun.resolve();
          await queue.promise;
          await sink.add(jobs);
        },
      }),
    });
    const added = audiences.add('VIP', 'cid');
    await begun.promise;
    return { audiences, deleted, added, letQueue: queue.resolve };
  }

  it('refuses other changes after `wait`, in its own and in another process, and never makes them', async () => {
    const { audiences, added, letQueue } = await slowChange();
    const busy = { code: 'AUDIENCE_BUSY', audience: 'VIP', waited: 200 };
    const refused = [audiences, on.live().audiences].flatMap((each) => [
      each.add('VIP', 'dan', { wait: 200 }),
      each.remove('VIP', 'ann', { wait: 200 }),
    ]);
    await Promise.all(refused.map((change) => expect(change).rejects.toMatchObject(busy)));
    await expect(audiences.add('VIP', 'dan', { wait: 0 })).rejects.toMatchObject({ ...busy, waited: 0 });

    letQueue();
    expect(await added).toBe(true);
    expect(await audiences.add('VIP', 'eve')).toBe(true);
    expect((await on.calls()).map(({ userId }) => userId)).toEqual(['cid', 'eve']);
    expect(await membersOf({ audiences }, 'VIP')).toEqual(['ann', 'cid', 'eve']);
  });

  it('makes changes that still wait, in the order of their calls', async () => {
    const { audiences, added, letQueue } = await slowChange();
    const dan = audiences.add('VIP', 'dan');
    const given = audiences.add('VIP', 'eve', { wait: 50 });
    const fay = audiences.add('VIP', 'fay', { wait: Infinity });
    await expect(given).rejects.toMatchObject({ code: 'AUDIENCE_BUSY' });

    letQueue();
    expect(await Promise.all([added, dan, fay])).toEqual([true, true, true]);
    expect((await on.calls()).map(({ userId }) => userId)).toEqual(['cid', 'dan', 'fay']);
  });

  it('ends a sync and an erasure whose step waits too long; both succeed after the change', async () => {
    const { audiences, deleted, added, letQueue } = await slowChange({ lockDuration: 1_000 });
    // If the machine stalls, the change may lose its lock.
    const over = Promise.allSettled([added]);
    const ann = { userId: 'ann', sources: ['web'] };
    const busy = { code: 'AUDIENCE_BUSY' };
    await Promise.all([
      expect(audiences.sync('VIP', ['bob'])).rejects.toMatchObject(busy),
      expect(deleted.forget([ann])).resolves.toEqual(new Map([[ann, expect.objectContaining(busy)]])),
    ]);
    expect(await membersOf({ audiences }, 'VIP')).toEqual(['ann']);

    letQueue();
    await over;
    expect((await deleted.forget([ann])).size).toBe(0);
    expect(await membersOf({ audiences }, 'VIP')).not.toContain('ann');
    await audiences.sync('VIP', ['bob']);
    expect(await membersOf({ audiences }, 'VIP')).toEqual(['bob']);
  });
});

describe('audiences that nobody changes any more', () => {
  const newConnection = quickConnections();

  it('leave nothing behind in the memory of a process', async () => {
    const script = new URL('./children/change-audiences.ts', import.meta.url);
    const child = await GuardedChild.startScript(script, [JSON.stringify(await newConnection())]);
    const [before = 0, meanwhile, after] = (await child.waitFor(/^lines /)).split(' ').slice(1).map(Number);
    expect({ meanwhile, after }).toEqual({ meanwhile: before + 20, after: before });
    await child.exited;
  });
});

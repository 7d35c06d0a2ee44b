import { beforeEach, describe, expect, it } from '@jest/globals';
import { DeletionLog } from '../../src/deliveries/deletion-log.js';
import { userKey } from '../../src/deliveries/deletion-key.js';
import type { Deletion, DeletionStore } from '../../src/deliveries/deletion-store.js';
import { taskOf } from '../../src/deliveries/deletion-task.js';
import { UnfinishedDeletions } from '../../src/deliveries/unfinished-deletions.js';
import { UserEraser } from '../../src/deliveries/user-eraser.js';
import { FakeClock } from '../support/fake-clock.js';
import { LogLines } from '../support/log-lines.js';

const MINUTE = 60_000;

/** Deletions that are pending, in memory. */
class PendingDeletions implements DeletionStore {
  looks = 0;

  constructor(private pendingOnes: Deletion[]) {}

  add(deletions: readonly Deletion[]): Promise<void> {
    this.pendingOnes.push(...deletions);
    return Promise.resolve();
  }

  find(): Promise<Map<string, number>> {
    return Promise.resolve(new Map<string, number>());
  }

  pending(limit: number): Promise<Deletion[]> {
    return Promise.resolve(this.pendingOnes.slice(0, limit));
  }

  async *pages(): AsyncGenerator<Deletion[], void> {
    this.looks++;
    if (this.pendingOnes.length > 0) yield await Promise.resolve([...this.pendingOnes]);
  }

  done(deletions: readonly Deletion[]): Promise<void> {
    const keys = new Set(deletions.map(({ key }) => key));
    this.pendingOnes = this.pendingOnes.filter(({ key }) => !keys.has(key));
    return Promise.resolve();
  }

  get users(): string[] {
    return this.pendingOnes.map(({ key }) => key);
  }
}

/** @param isForOwnStore whether a process with an audience store of the application has taken the deletion */
function deletionOf(userId: string, isForOwnStore: boolean): Deletion {
  return { key: userKey(userId), at: 0, task: taskOf({ userId, sources: ['web'], isForOwnStore }) };
}

describe('a deletion that a process with a store of its own has taken', () => {
  let store: PendingDeletions;

  beforeEach(() => {
    store = new PendingDeletions([deletionOf('ann', true), deletionOf('bob', false)]);
  });

  /** Carries out what a process can. Resolves to the users whose messages it looked for. */
  async function carriedOut(hasOwnStore: boolean): Promise<string[]> {
    const users: string[] = [];
    const messages = {
      erase: (deletedAt: ReadonlyMap<string, number>) => {
        users.push(...deletedAt.keys());
        return Promise.resolve(true);
      },
    };
    const eraser = new UserEraser(store, messages, new LogLines(), hasOwnStore);
    eraser.start();
    await eraser.close(1_000_000);
    return users;
  }

  it('is completed by another process with such a store', async () => {
    await carriedOut(true);
    expect(store.users).toEqual([]);
  });

  it('is left to them by a process without one, which removes the messages once', async () => {
    expect(await carriedOut(false)).toEqual([userKey('ann'), userKey('bob')]);
    expect(store.users).toEqual([userKey('ann')]);
    expect(store.looks).toBe(2);
  });
});

describe('the search for deletions that a process with a store of its own has taken', () => {
  let clock: FakeClock;
  let claims: Map<string, number>;
  let lines: string[];

  beforeEach(() => {
    clock = new FakeClock();
    claims = new Map();
    lines = [];
  });

  /** Starts the search of a process. Returns the number of times that the process has begun to carry out deletions. */
  function search(hasOwnStore: boolean, deletions: Deletion[]): { starts: number } {
    const eraser = {
      starts: 0,
      start: () => {
        eraser.starts++;
      },
    };
    const unfinished = new UnfinishedDeletions({
      clock,
      now: () => clock.now(),
      store: new PendingDeletions(deletions),
      backlogs: {
        claim: (task, interval) => {
          const isFree = (claims.get(task) ?? -Infinity) <= clock.now();
          if (isFree) claims.set(task, clock.now() + interval);
          return Promise.resolve(isFree);
        },
      },
      eraser,
      log: new DeletionLog({ warn: (line) => lines.push(line) }),
      hasOwnStore,
    });
    unfinished.start();
    return eraser;
  }

  it('is not kept from such a process by others that search before', async () => {
    const left: Deletion[] = [];
    search(false, left);
    await clock.pass(MINUTE);
    const own = search(true, left);
    await clock.pass(MINUTE);
    left.push(deletionOf('ann', true));
    await clock.pass(10 * MINUTE);
    expect(own.starts).toBeGreaterThan(0);
  });

  it('is logged once by processes without such a store', async () => {
    const left: Deletion[] = [];
    search(false, left);
    await clock.pass(MINUTE);
    left.push(deletionOf('ann', true));
    await clock.pass(30 * MINUTE);
    expect(lines).toEqual([
      expect.stringMatching(/^The deletion of 1 user is left to a process that has `audiences\.store`/),
    ]);
  });
});

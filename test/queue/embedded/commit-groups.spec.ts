import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { CommitGroups } from '../../../src/queue/embedded/commit-groups.js';

describe('commits that wait for the disk', () => {
  beforeEach(() => {
    // A group ends after ten milliseconds, which a busy machine may need for one commit.
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('are answered together, after one sync', async () => {
    const seen: string[] = [];
    const groups = new CommitGroups(() => seen.push('sync'));
    const commit = async (name: string): Promise<void> => {
      await groups.run(() => {
        seen.push(`commit ${name}`);
        return Promise.resolve();
      });
      seen.push(`answer ${name}`);
    };
    await Promise.all([commit('a'), commit('b')]);
    await commit('c');
    expect(seen).toEqual([
      ...['commit a', 'commit b', 'sync', 'answer a', 'answer b'],
      ...['commit c', 'sync', 'answer c'],
    ]);
  });

  it('are answered with their own error if they failed, and all with the sync’s error if that failed', async () => {
    let isFull = false;
    const groups = new CommitGroups(() => {
      if (isFull) throw new Error('the disk is full');
    });
    const commits = (): Promise<string[]> =>
      Promise.allSettled([
        groups.run(() => Promise.resolve('done')),
        groups.run(() => Promise.reject(new Error('a duplicate key'))),
      ]).then((ends) => ends.map((end) => (end.status === 'fulfilled' ? end.value : String(end.reason))));
    expect(await commits()).toEqual(['done', 'Error: a duplicate key']);
    isFull = true;
    expect(await commits()).toEqual(['Error: the disk is full', 'Error: the disk is full']);
  });
});

describe('commits that nobody waits for', () => {
  afterEach(() => {
    jest.useRealTimers();
  });

  const started = (): { seen: string[]; commit: (isDurable: boolean) => Promise<void> } => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'performance', 'nextTick', 'queueMicrotask'] });
    const seen: string[] = [];
    const groups = new CommitGroups(() => seen.push('sync'));
    const commit = async (isDurable: boolean): Promise<void> => {
      await groups.run(() => Promise.resolve(), isDurable);
      seen.push(isDurable ? 'durable' : 'done');
    };
    return { seen, commit };
  };
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

  it('are answered at once, and synced together at most 200 milliseconds later', async () => {
    const { seen, commit } = started();
    await commit(false);
    jest.advanceTimersByTime(150);
    await commit(false);
    expect(seen).toEqual(['done', 'done']);
    jest.advanceTimersByTime(50);
    await settled();
    expect(seen).toEqual(['done', 'done', 'sync']);
    jest.advanceTimersByTime(1_000);
    await settled();
    expect(seen).toHaveLength(3);
  });

  it('need no sync of their own if a commit that waits for the disk follows', async () => {
    const { seen, commit } = started();
    await commit(false);
    await commit(true);
    jest.advanceTimersByTime(1_000);
    await settled();
    expect(seen).toEqual(['done', 'sync', 'durable']);
  });
});

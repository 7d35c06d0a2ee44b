import { describe, expect, it } from '@jest/globals';
import { CommitGroups } from '../../../src/queue/embedded/commit-groups.js';

describe('commits that wait for the disk', () => {
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

  it('are answered with their own error where they failed, and all of them where the sync did', async () => {
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

import { beforeEach, describe, expect, it } from '@jest/globals';
import { ChangeNotices } from '../../src/stored-destinations/change-notices.js';
import type { DestinationChange } from '../../src/stored-destinations/destination-feed.js';
import { FakeClock } from '../support/fake-clock.js';

/** Node's error for a server that cannot be reached. */
const AWAY = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });

describe('notices of changes in the tables of the application', () => {
  let clock: FakeClock;
  let fails: Error | undefined;
  let told: (string | undefined)[];
  let forgotten: DestinationChange[];
  let lost: number[];
  let asked: number;
  let notices: ChangeNotices;

  beforeEach(() => {
    clock = new FakeClock();
    [fails, told, forgotten, lost, asked] = [undefined, [], [], [], 0];
    notices = new ChangeNotices({
      clock,
      directory: { forget: (change) => void forgotten.push(change) },
      feed: {
        publish: ({ tenant }) => {
          asked++;
          if (fails !== undefined) return Promise.reject(fails);
          told.push(tenant);
          return Promise.resolve();
        },
      },
      onLost: (count) => void lost.push(count),
    });
  });

  it('take effect in this process at once, and are kept while the database is away: one for each tenant', async () => {
    fails = AWAY;
    for (const tenant of ['acme', 'other', 'acme']) await notices.tell({ tenant });
    expect(forgotten).toHaveLength(3);
    expect(told).toEqual([]);
    asked = 0;
    await clock.pass(10_000);
    // One of the notices finds out that the database is still away.
    expect(asked).toBe(10);
    fails = undefined;
    await clock.pass(1_000);
    expect(told.sort()).toEqual(['acme', 'other']);
    expect(clock.pending).toBe(0);
    notices.close();
    expect(lost).toEqual([]);
  });

  it('are rejected if the database refuses them', async () => {
    fails = new Error('permission denied for table');
    await expect(notices.tell({ tenant: 'acme' })).rejects.toThrow('permission denied');
    expect(clock.pending).toBe(0);
  });

  it('do not keep the process alive, and take a limited amount of memory', async () => {
    fails = AWAY;
    for (let n = 0; n < 5_000; n++) await notices.tell({ tenant: `tenant ${n}` });
    await expect(notices.tell({ tenant: 'one more' })).rejects.toBe(AWAY);
    expect(clock.holding).toBe(0);
    notices.close();
    expect(lost).toEqual([5_000]);
    expect(clock.pending).toBe(0);
  });
});

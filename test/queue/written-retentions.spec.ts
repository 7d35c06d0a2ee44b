import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { PgQueryResult } from 'bullmq';
import { FailedRetention } from '../../src/queue/failed-retention.js';
import { messageIds } from '../support/message-ids.js';

const SECOND = 1_000;
/** Time in which each look is made once, in milliseconds. */
const LONG = 600_000;

describe('failed jobs with a retention that anybody may have written', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  /** Makes a process look through jobs with these retentions, beside a destination that keeps nothing. */
  function lookAt(ages: readonly unknown[]): {
    asked: () => number;
    removed: string[];
    end: () => void;
  } {
    const ids = messageIds('job', ages.length);
    const jobs = ids.map((id, index) => ({
      id,
      time: String(index + 1),
      opts: JSON.stringify({ removeOnFail: { age: ages[index] } }),
      destinations: '["other"]',
      marks: '[]',
    }));
    let queries = 0;
    const removed: string[] = [];
    const retention = new FailedRetention({
      queues: [
        {
          name: 'analytics',
          toKey: (type) => type,
          remove: (id) => Promise.resolve(removed.push(id)),
        },
      ],
      storage: {
        kind: 'postgres',
        pool: {
          query: <R>(_text: string, [, from, , skipped, size]: readonly unknown[] = []) => {
            queries++;
            const later: unknown[] = jobs.filter(({ time }) => Number(time) >= Number(from));
            const rows = later.slice(Number(skipped), Number(skipped) + Number(size)) as R[];
            return Promise.resolve<PgQueryResult<R>>({ rows, rowCount: rows.length });
          },
        },
      },
      health: { isUp: true, report: () => false },
      marks: { isOwn: () => true },
      retentions: new Map([['besteffort', 0]]),
      otherRetentions: [],
    });
    retention.onApplicationBootstrap();
    return {
      asked: () => queries,
      removed,
      end: () => {
        retention.beforeApplicationShutdown();
      },
    };
  }

  it.each([
    ['a text', '7d'],
    ['less than nothing', -1],
    ['nothing', null],
    ['for ever', Number.MAX_VALUE],
  ])('are looked at now and then, and stay, if the retention is %s', async (_, age) => {
    const { asked, removed, end } = lookAt([age]);
    await jest.advanceTimersByTimeAsync(6 * SECOND);
    const before = asked();
    await jest.advanceTimersByTimeAsync(4 * SECOND);
    expect(asked() - before).toBeLessThanOrEqual(1);
    expect(removed).toEqual([]);
    end();
  });

  it('do not cause more and more looks, however many different retentions they have', async () => {
    const { end } = lookAt(Array.from({ length: 1_000 }, (_, index) => 604_800 + index));
    await jest.advanceTimersByTimeAsync(LONG);
    expect(jest.getTimerCount()).toBeLessThan(100);
    end();
  });
});

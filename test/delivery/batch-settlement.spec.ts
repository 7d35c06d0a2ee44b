import { describe, expect, it } from '@jest/globals';
import { type TriedBatch, type BatchSettlement, settleBatch } from '../../src/delivery/batch-settlement.js';
import type { DeliveryResult } from '../../src/destinations/destination.js';
import type { UrlOutcome } from '../../src/queue/batch-job.js';
import type { BatchMessage } from '../../src/queue/batch-job.js';

const HOUR = 3_600_000;
const NOW = 1_000_000;

type Came = [id: string, result: Partial<DeliveryResult> | undefined];

function outcome(given: Partial<UrlOutcome>): UrlOutcome {
  return { url: 'hash', class: 'retry', attempt: 1, at: NOW, duration: 1, ...given };
}

/** Settles a batch whose messages have these results. */
function settle(results: Came[], given: Partial<TriedBatch> = {}, now = NOW): BatchSettlement {
  const attempt: TriedBatch = {
    startedAt: NOW,
    firstAttemptAt: NOW,
    retryWindow: 4 * HOUR,
    messages: results.map(([id]) => ({ id, body: '{}', outcomes: [] })),
    results: results.map(([, result]) => result && { class: 'retry', outcomes: [outcome({})], ...result }),
    ...given,
  };
  return settleBatch(attempt, now);
}

function ids(messages: BatchMessage[]): string[] {
  return messages.map(({ id }) => id);
}

describe('a batch after an attempt', () => {
  it('is divided by what comes next for each of its messages', () => {
    const settlement = settle([
      ['taken', { class: 'delivered' }],
      ['later', { class: 'retry' }],
      ['never', { class: 'permanent' }],
      ['held back', { class: 'deferred' }],
      ['broken off', undefined],
    ]);
    expect(ids(settlement.delivered)).toEqual(['taken']);
    expect(ids(settlement.retried)).toEqual(['later']);
    expect(ids(settlement.failed)).toEqual(['never']);
    expect(ids(settlement.deferred)).toEqual(['held back']);
    expect(ids(settlement.unsettled)).toEqual(['broken off']);
  });

  it('holds the answers of the URLs to each message, and the time at which a message failed', () => {
    const answered = [outcome({ status: 404, class: 'permanent' })];
    const settlement = settle([['never', { class: 'permanent', outcomes: answered }]]);
    expect(settlement.failed).toEqual([{ id: 'never', body: '{}', outcomes: answered, failedAt: NOW }]);
  });

  it.each<[string, Came[]]>([
    ['was delivered', [['a', { class: 'delivered' }]]],
    ['failed for good', [['a', { class: 'permanent' }]]],
    ['was broken off', [['a', undefined]]],
  ])('has no due time if all of it %s', (_, results) => {
    expect(settle(results).dueAt).toBeUndefined();
  });

  it.each([
    [1, 4_000, 6_000],
    [3, 16_000, 24_000],
    [17, 1_440_000, 2_160_000],
  ])('is retried, after attempt %d, in %d to %d ms', (attempt, least, most) => {
    const { dueAt } = settle([['a', { outcomes: [outcome({ attempt })] }]]);
    expect(dueAt).toBeGreaterThanOrEqual(NOW + least);
    expect(dueAt).toBeLessThanOrEqual(NOW + most);
  });

  it('is retried according to the message with the most attempts and the largest Retry-After', () => {
    const { dueAt } = settle([
      ['a', { outcomes: [outcome({ attempt: 1 })], retryAfter: 7_000 }],
      ['b', { outcomes: [outcome({ attempt: 1 }), outcome({ attempt: 2 })], retryAfter: 90_000 }],
      ['c', { outcomes: [outcome({ attempt: 1 })] }],
    ]);
    expect(dueAt).toBe(NOW + 90_000);
  });

  it('honours Retry-After even if other messages are only held back', () => {
    const { dueAt } = settle([
      ['a', { retryAfter: 60_000 }],
      ['b', { class: 'deferred', wait: 10 }],
    ]);
    expect(dueAt).toBe(NOW + 60_000);
  });

  it('has the messages that were to be retried fail for good after the last attempt', () => {
    const late = NOW + 4 * HOUR;
    const settlement = settle([['a', {}], ['b', { class: 'delivered' }]], { startedAt: late }, late); // prettier-ignore
    expect(settlement.retried).toEqual([]);
    expect(settlement.failed).toMatchObject([{ id: 'a', failedAt: late }]);
    expect(settlement.dueAt).toBeUndefined();
  });

  it('keeps messages after the last attempt if they could not be sent to one of their URLs', () => {
    const late = NOW + 4 * HOUR;
    const busy = outcome({ error: 'DNS_BUSY' });
    const refused = outcome({ error: 'DNS_BUSY', class: 'permanent' });
    const settlement = settle(
      [
        ['asked', {}],
        ['not asked', { outcomes: [busy] }],
        ['asked by one', { outcomes: [outcome({ status: 503 }), busy] }],
        ['refused by one', { outcomes: [refused, outcome({ status: 503 })] }],
      ],
      { startedAt: late },
      late,
    );
    expect(ids(settlement.retried)).toEqual(['not asked', 'asked by one']);
    expect(ids(settlement.failed)).toEqual(['asked', 'refused by one']);
    expect(settlement.dueAt).toBeGreaterThan(late);
  });

  it.each([
    ['at once', 0, {}, NOW + 1],
    ['after the Retry-After of another URL', 0, { retryAfter: 60_000 }, NOW + 60_000],
    ['at once after its last attempt', 4 * HOUR, { retryAfter: 60_000 }, NOW + 1],
  ])('is retried %s if a request to one of its URLs was broken off', (_, age, given, dueAt) => {
    const settlement = settle([['a', { isBrokenOff: true, outcomes: [outcome({ attempt: 9 })], ...given }]], {
      firstAttemptAt: NOW - age,
    });
    expect(ids(settlement.retried)).toEqual(['a']);
    expect(settlement.failed).toEqual([]);
    expect(settlement.dueAt).toBe(dueAt);
  });

  it('does not keep unsent messages for longer than an eighth of its window', () => {
    const late = NOW + 4.5 * HOUR;
    const unsent: Came[] = [['a', { outcomes: [outcome({ error: 'EMFILE' })] }]];
    const settlement = settle(unsent, { startedAt: late }, late);
    expect(ids(settlement.failed)).toEqual(['a']);
    expect(settlement.dueAt).toBeUndefined();
  });

  it.each([
    ['when its URLs may be asked', 0, 10_000, 10_000],
    ['the more rarely the older it is', HOUR / 60, 1_000, 15_000],
    ['at least every 5 minutes of 4 hours', 3 * HOUR, 1_000, 300_000],
  ])('is looked at again, if all messages are held back, %s', (_, age, wait, expected) => {
    const { dueAt } = settle([['a', { class: 'deferred', wait }]], { firstAttemptAt: NOW - age });
    expect(dueAt).toBeGreaterThanOrEqual(NOW + expected);
    expect(dueAt).toBeLessThanOrEqual(NOW + expected * 1.2 + 1);
  });

  it('is never held back past its last attempt', () => {
    const { dueAt } = settle([['a', { class: 'deferred', wait: 9 * HOUR }]]);
    expect(dueAt).toBe(NOW + 4 * HOUR - 1_000);
  });

  it('has its last attempt at once if it was put off until after its window', () => {
    const { dueAt } = settle([['a', { class: 'deferred', wait: 5 }]], { firstAttemptAt: NOW - 9 * HOUR });
    expect(dueAt).toBe(NOW + 1);
  });
});

import { describe, expect, it } from '@jest/globals';
import {
  lastAttemptAt,
  nextAttemptAt,
  type RetryState,
  unsentAttemptAt,
} from '../../src/delivery/retry-policy.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const LAST = 4 * HOUR - SECOND;

/** An attempt at a message that was first tried at 0 and may be tried for 4 hours. */
function state(given: Partial<RetryState>): RetryState {
  return { firstAttemptAt: 0, retryWindow: 4 * HOUR, attempt: 1, startedAt: 0, now: 0, ...given };
}

const middle = (): number => 0.5;

describe('the retry policy', () => {
  it.each([
    [1, 5 * SECOND],
    [2, 10 * SECOND],
    [3, 20 * SECOND],
    [6, 160 * SECOND],
    [9, 1_280 * SECOND],
    [10, 30 * MINUTE],
    [17, 30 * MINUTE],
    [2_000, 30 * MINUTE],
  ])('waits, after attempt %d of a 4 hour window, for %d ms', (attempt, delay) => {
    expect(nextAttemptAt(state({ attempt }), middle)).toBe(delay);
  });

  it.each([
    ['shorter', () => 0, 4 * SECOND],
    ['longer', () => 0.9999, 6 * SECOND],
  ])(
    'varies a delay by a fifth, so that messages that failed together are retried apart (%s)',
    (_, random, delay) => {
      expect(nextAttemptAt(state({}), random)).toBe(delay);
    },
  );

  it.each([
    ['a larger one is kept', 90 * SECOND, 90 * SECOND],
    ['a smaller one changes nothing', SECOND, 5 * SECOND],
    ['one past the window is cut to the last attempt', 5 * HOUR, LAST],
  ])('takes Retry-After as the shortest delay: %s', (_, retryAfter, at) => {
    expect(nextAttemptAt(state({ retryAfter }), middle)).toBe(at);
  });

  it('places the last attempt just before the end of the window', () => {
    const now = 4 * HOUR - 10 * MINUTE;
    expect(nextAttemptAt(state({ attempt: 16, startedAt: now, now }), middle)).toBe(LAST);
    expect(lastAttemptAt({ firstAttemptAt: 0, retryWindow: 4 * HOUR })).toBe(LAST);
  });

  it('makes the last attempt at once if its time passed during the previous attempt', () => {
    const now = 4 * HOUR + MINUTE;
    expect(nextAttemptAt(state({ startedAt: LAST - SECOND, now }), middle)).toBe(now + 1);
  });

  it.each([
    ['at the last moment', LAST],
    ['long after it, because nobody was there', 9 * HOUR],
  ])('ends with an attempt that began %s', (_, startedAt) => {
    expect(nextAttemptAt(state({ startedAt, now: startedAt }), middle)).toBeUndefined();
  });

  it('makes no second attempt if the window is 0', () => {
    expect(nextAttemptAt(state({ retryWindow: 0, now: 7 }), middle)).toBeUndefined();
  });

  it.each([
    ['4 hours', 4 * HOUR, MINUTE],
    ['a second', SECOND, 2 * SECOND],
    ['0', 0, 2 * SECOND],
  ])('makes a last attempt again that was not sent, soon after a window of %s', (_, retryWindow, delay) => {
    const late = { retryWindow, startedAt: retryWindow, now: retryWindow };
    expect(unsentAttemptAt(state(late), middle)).toBe(retryWindow + delay);
  });

  it.each([
    ['an eighth of the window', 4 * HOUR, 4.5 * HOUR],
    ['a minute where the window is short', 0, MINUTE],
  ])('gives up after %s if an attempt is never sent', (_, retryWindow, end) => {
    const before = { retryWindow, startedAt: end - 1, now: end - 1, retryAfter: HOUR };
    expect(unsentAttemptAt(state(before), middle)).toBe(end);
    expect(unsentAttemptAt(state({ retryWindow, startedAt: end, now: end }), middle)).toBeUndefined();
  });

  it('makes 15 to 20 attempts in 4 hours, whatever the jitter', () => {
    for (const random of [() => 0, middle, () => 0.9999]) {
      let attempts = 0;
      for (let at: number | undefined = 0; at !== undefined; attempts++) {
        at = nextAttemptAt(state({ attempt: attempts + 1, startedAt: at, now: at }), random);
      }
      expect(attempts).toBeGreaterThanOrEqual(15);
      expect(attempts).toBeLessThanOrEqual(20);
    }
  });
});

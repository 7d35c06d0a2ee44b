import { beforeEach, describe, expect, it } from '@jest/globals';
import { EndpointBreaker } from '../../src/destinations/webhooks/endpoint-breaker.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const RETRY_WINDOW = 240 * MINUTE;
const START = 1_795_000_000_000;

describe('the breaker of an endpoint', () => {
  let breaker: EndpointBreaker;
  let now: number;

  beforeEach(() => {
    breaker = new EndpointBreaker(RETRY_WINDOW);
    now = START;
  });

  const admit = (force = false): boolean => breaker.admit(now, force);

  /** Requests that begin now, as many as are let through. */
  function begin(requests: number): number {
    return Array.from({ length: requests }, () => admit()).filter(Boolean).length;
  }

  function fail(requests = 1, retryAfter?: number, startedAt = now): void {
    for (let index = 0; index < requests; index++) breaker.recordFailure(startedAt, now, retryAfter);
  }

  function answer(requests = 1): void {
    for (let index = 0; index < requests; index++) breaker.recordAnswer(now);
  }

  /** Opens the breaker by failures that all began now. */
  function goDown(retryAfter?: number): void {
    expect(begin(5)).toBe(5);
    fail(5, retryAfter);
    expect(breaker.isOpen).toBe(true);
  }

  /** A probe at the moment when it is due, which fails. */
  function failProbe(): void {
    now += breaker.wait(now);
    expect(admit()).toBe(true);
    fail();
  }

  function comeBack(): void {
    now += breaker.wait(now);
    expect(admit()).toBe(true);
    answer();
  }

  it('lets everything through while nothing fails', () => {
    expect(begin(1_000)).toBe(1_000);
    answer(1_000);
    expect(begin(1_000)).toBe(1_000);
    expect(breaker.isOpen).toBe(false);
  });

  it('opens after five failures in a row', () => {
    begin(5);
    fail(4);
    expect(admit()).toBe(true);
    fail();
    expect(breaker.isOpen).toBe(true);
    expect(admit()).toBe(false);
  });

  it('opens after five that were tried one after the other as well', () => {
    for (let index = 0; index < 5; index++) {
      expect(admit()).toBe(true);
      now += MINUTE;
      fail(1, 0, now - MINUTE);
    }
    expect(admit()).toBe(false);
  });

  it('counts from the start after an answer', () => {
    for (let round = 0; round < 10; round++) {
      expect(begin(5)).toBe(5);
      fail(4);
      answer();
    }
    expect(breaker.isOpen).toBe(false);
  });

  it('does not count what was broken off', () => {
    begin(10);
    fail(4);
    for (let index = 0; index < 6; index++) breaker.recordNothing(now);
    expect(admit()).toBe(true);
  });

  it('is open for 5 seconds, and then lets a single probe through', () => {
    goDown();
    expect(breaker.wait(now)).toBe(5 * SECOND);
    now += 5 * SECOND - 1;
    expect(begin(10)).toBe(0);
    now += 1;
    expect(begin(10)).toBe(1);
    now += MINUTE;
    expect(begin(10)).toBe(0);
    expect(breaker.wait(now)).toBe(SECOND);
  });

  it('sends another probe when one was broken off', () => {
    goDown();
    now += 5 * SECOND;
    expect(begin(2)).toBe(1);
    breaker.recordNothing(now);
    expect(begin(2)).toBe(1);
  });

  it('doubles its pause with every probe that fails, up to 5 minutes', () => {
    goDown();
    const pauses = Array.from({ length: 9 }, () => {
      const pause = breaker.wait(now) / SECOND;
      failProbe();
      return pause;
    });
    expect(pauses).toEqual([5, 10, 20, 40, 80, 160, 300, 300, 300]);
  });

  it.each([
    ['a shorter one changes nothing', 2 * SECOND, 5 * SECOND],
    ['a longer one is waited for', MINUTE, MINUTE],
    ['one that no message lives to see is cut', 365 * 24 * 60 * MINUTE, RETRY_WINDOW],
  ])('has Retry-After as a floor of its pause: %s', (_, retryAfter, expected) => {
    goDown(retryAfter);
    expect(breaker.wait(now)).toBe(expected);
    now += expected - 1;
    expect(admit()).toBe(false);
    now += 1;
    expect(admit()).toBe(true);
  });

  it('waits for the largest Retry-After of requests that were in flight when it opened', () => {
    expect(begin(7)).toBe(7);
    fail(5);
    fail(1, MINUTE);
    fail(1, SECOND);
    expect(breaker.wait(now)).toBe(MINUTE);
  });

  it('takes all failures of one outage for one', () => {
    begin(100);
    now += 4 * SECOND;
    fail(100, 0, START);
    expect(breaker.wait(now)).toBe(5 * SECOND);
    failProbe();
    expect(breaker.wait(now)).toBe(10 * SECOND);
  });

  it('does not take a failure from before the outage for that of the probe', () => {
    begin(6);
    fail(5);
    now += 5 * SECOND;
    expect(admit()).toBe(true);
    fail(1, 0, START);
    // The probe is still on its way, and it alone decides.
    expect(begin(3)).toBe(0);
    answer();
    expect(admit()).toBe(true);
  });

  it('is not closed again for one broken off from before the outage', () => {
    begin(6);
    fail(5);
    now += 5 * SECOND;
    expect(admit()).toBe(true);
    breaker.recordNothing(START);
    expect(admit()).toBe(false);
  });

  it('is not opened again by failures from before the outage', () => {
    begin(50);
    fail(5);
    comeBack();
    fail(45, 0, START);
    expect(breaker.isOpen).toBe(false);
    expect(begin(100)).toBe(2);
  });

  it('makes forced attempts even while it is open, and does not wait for them', () => {
    goDown();
    expect(admit(true)).toBe(true);
    fail();
    expect(breaker.wait(now)).toBe(5 * SECOND);
    now += 5 * SECOND;
    expect(begin(5)).toBe(1);
    expect(admit(true)).toBe(true);
  });

  it('learns from a forced attempt that succeeds, and goes on learning', () => {
    goDown();
    expect(admit(true)).toBe(true);
    answer();
    expect(breaker.isOpen).toBe(false);
    begin(2);
    fail(2);
    expect(breaker.isOpen).toBe(true);
  });

  it('takes a forced attempt for the probe where one is due', () => {
    goDown();
    now += 5 * SECOND;
    expect(admit(true)).toBe(true);
    expect(admit()).toBe(false);
    fail();
    expect(breaker.wait(now)).toBe(10 * SECOND);
  });

  it('lets the backlog out at a rising rate', () => {
    goDown();
    comeBack();
    const rounds: number[] = [];
    while (rounds.length < 7) {
      const begun = begin(1_000);
      rounds.push(begun);
      answer(begun);
    }
    expect(rounds).toEqual([2, 4, 8, 16, 32, 1_000, 1_000]);
  });

  it('begins with a short pause again only after it has recovered', () => {
    goDown();
    failProbe();
    comeBack();
    begin(2);
    fail(2);
    expect(breaker.wait(now)).toBe(20 * SECOND);
    comeBack();
    for (let index = 0; index < 62; index++) {
      expect(admit()).toBe(true);
      answer();
    }
    goDown();
    expect(breaker.wait(now)).toBe(5 * SECOND);
  });

  it('slows down for a failure while it recovers', () => {
    goDown();
    comeBack();
    begin(2);
    answer(2);
    expect(begin(100)).toBe(4);
    fail();
    // Three may be in flight from now on, and three still are.
    expect(admit()).toBe(false);
    answer(3);
    expect(begin(100)).toBe(6);
    expect(breaker.isOpen).toBe(false);
  });

  it('opens at once when nothing is left of its allowance', () => {
    goDown();
    comeBack();
    begin(2);
    fail();
    expect(breaker.isOpen).toBe(false);
    fail();
    expect(breaker.isOpen).toBe(true);
  });

  it('recovers with a URL that fails now and then', () => {
    goDown();
    comeBack();
    // One in ten fails, which is far from being down.
    for (let index = 1; index <= 1_000; index++) {
      expect(admit()).toBe(true);
      if (index % 10 === 0) fail();
      else answer();
    }
    expect(breaker.isOpen).toBe(false);
    expect(begin(10)).toBe(10);
  });

  it('does not stay open longer when the clock is set back', () => {
    goDown();
    now += 2 * SECOND;
    expect(breaker.wait(now)).toBe(3 * SECOND);
    now -= 60 * MINUTE;
    expect(admit()).toBe(false);
    // What passed on the clock meanwhile is not known, what was left is.
    expect(breaker.wait(now)).toBe(3 * SECOND);
    now += 3 * SECOND;
    expect(begin(10)).toBe(1);
    now -= 60 * MINUTE;
    fail();
    expect(breaker.wait(now)).toBe(10 * SECOND);
  });

  it('keeps its proportions for another retry window', () => {
    breaker = new EndpointBreaker(14_400);
    goDown();
    expect(breaker.wait(now)).toBe(5);
    const none = new EndpointBreaker(0);
    for (let index = 0; index < 5; index++) {
      none.admit(now, false);
      none.recordFailure(now, now);
    }
    expect(none.wait(now)).toBe(0);
    expect(none.admit(now, false)).toBe(true);
  });
});

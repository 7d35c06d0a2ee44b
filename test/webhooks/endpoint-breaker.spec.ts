import { beforeEach, describe, expect, it } from '@jest/globals';
import { EndpointBreaker } from '../../src/webhooks/endpoint-breaker.js';

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

  /** Begins this many requests now. Returns how many of them are let through. */
  function begin(requests: number): number {
    return Array.from({ length: requests }, () => admit()).filter(Boolean).length;
  }

  function fail(requests = 1, retryAfter?: number, startedAt = now): void {
    for (let index = 0; index < requests; index++) breaker.recordFailure(startedAt, now, retryAfter);
  }

  function answer(requests = 1): void {
    for (let index = 0; index < requests; index++) breaker.recordAnswer(now);
  }

  /** Opens the breaker by failures of requests that all began now. */
  function goDown(retryAfter?: number): void {
    expect(begin(5)).toBe(5);
    fail(5, retryAfter);
    expect(breaker.isOpen).toBe(true);
  }

  /** Fails a probe at the time when it is due. */
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

  it('opens after five failures of requests that were made one after the other', () => {
    for (let index = 0; index < 5; index++) {
      expect(admit()).toBe(true);
      now += MINUTE;
      fail(1, 0, now - MINUTE);
    }
    expect(admit()).toBe(false);
  });

  it('counts from zero again after an answer', () => {
    for (let round = 0; round < 10; round++) {
      expect(begin(5)).toBe(5);
      fail(4);
      answer();
    }
    expect(breaker.isOpen).toBe(false);
  });

  it('does not count requests that were broken off', () => {
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

  it('sends another probe if a probe was broken off', () => {
    goDown();
    now += 5 * SECOND;
    expect(begin(2)).toBe(1);
    breaker.recordNothing(now);
    expect(begin(2)).toBe(1);
  });

  it('doubles its pause with every failed probe, up to 5 minutes', () => {
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
  ])('takes Retry-After as the shortest pause: %s', (_, retryAfter, expected) => {
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

  it('counts all failures of one outage as one', () => {
    begin(100);
    now += 4 * SECOND;
    fail(100, 0, START);
    expect(breaker.wait(now)).toBe(5 * SECOND);
    failProbe();
    expect(breaker.wait(now)).toBe(10 * SECOND);
  });

  it('does not mistake a failure from before the outage for that of the probe', () => {
    begin(6);
    fail(5);
    now += 5 * SECOND;
    expect(admit()).toBe(true);
    fail(1, 0, START);
    // The probe is still under way, and it alone decides.
    expect(begin(3)).toBe(0);
    answer();
    expect(admit()).toBe(true);
  });

  it('does not let another probe through when a request from before the outage is broken off', () => {
    begin(6);
    fail(5);
    now += 5 * SECOND;
    expect(admit()).toBe(true);
    breaker.recordNothing(START);
    expect(admit()).toBe(false);
  });

  it('does not open again because of failures from before the outage', () => {
    begin(50);
    fail(5);
    comeBack();
    fail(45, 0, START);
    expect(breaker.isOpen).toBe(false);
    expect(begin(100)).toBe(100);
  });

  describe('that replaces another breaker, because the requests have changed,', () => {
    const follow = (): void => {
      breaker = new EndpointBreaker(RETRY_WINDOW, undefined, breaker);
    };

    it('lets a single probe through at once if the other breaker was open, whatever the receiver had asked for', () => {
      goDown(RETRY_WINDOW);
      failProbe();
      follow();
      expect(breaker.wait(now)).toBe(0);
      expect(begin(10)).toBe(1);
      fail();
      // As after a further probe, so that frequent header changes cause no more probes.
      expect(breaker.wait(now)).toBe(20 * SECOND);
      comeBack();
      expect(begin(10)).toBe(10);
    });

    it('sends its own probe if a probe of the other breaker is under way', () => {
      goDown();
      now += 5 * SECOND;
      expect(begin(1)).toBe(1);
      follow();
      expect(begin(10)).toBe(1);
    });

    it('counts from zero if the other breaker was closed', () => {
      begin(4);
      fail(4);
      follow();
      begin(5);
      fail(4);
      expect(breaker.isOpen).toBe(false);
    });
  });

  it('makes forced attempts even while it is open', () => {
    goDown();
    expect(admit(true)).toBe(true);
    expect(admit(true)).toBe(true);
    now += 5 * SECOND;
    expect(admit(true)).toBe(true);
  });

  it('treats a forced attempt as the probe even if no probe was due', () => {
    goDown();
    now += 4 * SECOND;
    const startedAt = now;
    expect(admit(true)).toBe(true);
    now += 2 * SECOND;
    expect(begin(5)).toBe(0);
    fail(1, 0, startedAt);
    expect(breaker.wait(now)).toBe(10 * SECOND);
  });

  it('waits as long as the receiver asked for even if a forced attempt fails meanwhile', () => {
    goDown(MINUTE);
    expect(admit(true)).toBe(true);
    fail();
    expect(breaker.wait(now)).toBe(MINUTE);
  });

  it('closes after a forced attempt that succeeds, and can open again', () => {
    goDown();
    expect(admit(true)).toBe(true);
    answer();
    expect(breaker.isOpen).toBe(false);
    begin(5);
    fail(5);
    expect(breaker.isOpen).toBe(true);
  });

  it('treats a forced attempt as the probe if a probe is due', () => {
    goDown();
    now += 5 * SECOND;
    expect(admit(true)).toBe(true);
    expect(admit()).toBe(false);
    fail();
    expect(breaker.wait(now)).toBe(10 * SECOND);
  });

  it('starts with a short pause again only after it has recovered', () => {
    goDown();
    failProbe();
    comeBack();
    goDown();
    expect(breaker.wait(now)).toBe(20 * SECOND);
    comeBack();
    for (let index = 0; index < 63; index++) {
      expect(admit()).toBe(true);
      answer();
    }
    goDown();
    expect(breaker.wait(now)).toBe(5 * SECOND);
  });

  it('holds requests back for as long as a receiver asks, even if it is not down', () => {
    breaker.hold(now, MINUTE);
    expect(breaker.isOpen).toBe(false);
    expect(breaker.wait(now)).toBe(MINUTE);
    expect(begin(3)).toBe(0);
    now += MINUTE;
    expect(breaker.wait(now)).toBe(0);
    expect(begin(3)).toBe(3);
  });

  it('still holds other requests back if a forced attempt is made meanwhile', () => {
    breaker.hold(now, MINUTE);
    expect(admit(true)).toBe(true);
    answer();
    expect(breaker.wait(now)).toBe(MINUTE);
    expect(begin(3)).toBe(0);
  });

  describe('reports to its observer', () => {
    const changes: string[] = [];

    beforeEach(() => {
      changes.length = 0;
      breaker = new EndpointBreaker(RETRY_WINDOW, {
        onDown: (failures) => changes.push(`down after ${failures}`),
        onUp: () => changes.push('up'),
      });
    });

    it('that the URL is down after five failures in a row, and up with the first answer', () => {
      goDown();
      failProbe();
      comeBack();
      expect(changes).toEqual(['down after 5', 'up']);
    });

    it('nothing about a URL that fails every other request', () => {
      for (let index = 0; index < 100; index++) {
        begin(2);
        fail();
        answer();
      }
      expect(changes).toEqual([]);
    });

    it('nothing about fewer than five failures after the URL came up', () => {
      goDown();
      comeBack();
      for (let index = 0; index < 20; index++) {
        begin(5);
        fail(4);
        answer();
      }
      expect(changes).toEqual(['down after 5', 'up']);
    });
  });

  it('does not stay open longer when the clock is set back', () => {
    goDown();
    now += 2 * SECOND;
    expect(breaker.wait(now)).toBe(3 * SECOND);
    now -= 60 * MINUTE;
    expect(admit()).toBe(false);
    // The time that passed meanwhile is unknown, but the remaining time is known.
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

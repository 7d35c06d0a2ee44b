import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { setImmediate as turn } from 'node:timers/promises';
import { DeliveryScheduler } from '../../src/delivery/delivery-scheduler.js';
import { EventLoopBudget } from '../../src/delivery/event-loop-budget.js';
import { LocalRateLimitStore } from '../../src/delivery/rate-limits/rate-limit-store.js';
import { firstAttempt } from '../support/deliver-one.js';
import { messagesOf, TestDestination } from '../support/test-destination.js';

/** Requests that may begin in a turn of the event loop, in addition to the first requests to idle destinations. */
const LEAST = 8;
/** Requests that may begin after a turn that took very long. */
const MOST = 128;
/** Requests that a destination may have under way at first. */
const FIRST_WINDOW = 4;
/** How long a destination keeps the places of its requests, in milliseconds. */
const TURN_OF_DESTINATION = 10;

describe('a turn of the event loop', () => {
  let made = 0;

  beforeEach(() => {
    // The tests set how long turns take. The event loop itself goes on.
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  function schedule(connections = 64): DeliveryScheduler {
    return new DeliveryScheduler({
      requests: 10_000,
      connections,
      eventLoop: new EventLoopBudget(),
      batches: 4,
      jobs: 10_000,
      rateLimits: new LocalRateLimitStore(),
      promote: () => Promise.resolve(),
    });
  }

  /** Destinations with this many waiting messages each. */
  function busy(
    scheduler: DeliveryScheduler,
    count: number,
    messages: number,
    origins?: string[],
  ): TestDestination[] {
    return Array.from({ length: count }, () => {
      const destination = new TestDestination(`busy-${made++}`, origins && { origins });
      void scheduler.deliver(destination, messagesOf(messages), firstAttempt());
      return destination;
    });
  }

  const begun = (destinations: readonly TestDestination[]): number =>
    destinations.reduce((sum, { requests }) => sum + requests.length, 0);

  it('begins only as many requests as leave the application its share, and leaves the rest to the next turns', async () => {
    const destinations = busy(schedule(), 30, FIRST_WINDOW);
    const inTurn: number[] = [];
    while (begun(destinations) < 30 * FIRST_WINDOW) {
      const before = begun(destinations);
      await turn();
      inTurn.push(begun(destinations) - before);
    }
    expect(Math.max(...inTurn)).toBe(LEAST);
  });

  it('counts a request for each URL', async () => {
    const urls = Array.from({ length: 4 }, (_, n) => `https://${n}.example.com`);
    const destinations = busy(schedule(), 30, FIRST_WINDOW, urls);
    const before = begun(destinations);
    await turn();
    expect(begun(destinations) - before).toBe(LEAST / urls.length);
  });

  it('begins a request to each idle destination at once, whatever waits for others', () => {
    const scheduler = schedule();
    busy(scheduler, 100, 1_000);
    const idle = new TestDestination('idle');
    void scheduler.deliver(idle, messagesOf(1), firstAttempt());
    expect(idle.requests).toHaveLength(1);
  });

  it('leaves other destinations their share, however many idle destinations have something to send', async () => {
    const scheduler = schedule();
    const [waiting] = busy(scheduler, 10, FIRST_WINDOW).slice(-1);
    for (let round = 0; round < 10; round++) {
      await turn();
      for (let n = 0; n < 2 * LEAST; n++) {
        const idle = new TestDestination(`idle-${round}-${n}`);
        void scheduler.deliver(idle, messagesOf(1), firstAttempt());
      }
    }
    expect(waiting?.requests).toHaveLength(FIRST_WINDOW);
  });

  it('begins more requests after a long turn, so that a busy application still delivers', async () => {
    const destinations = busy(schedule(), 100, FIRST_WINDOW);
    const before = begun(destinations);
    jest.advanceTimersByTime(25);
    await turn();
    expect(begun(destinations) - before).toBe(100);
  });

  it('begins a limited number of requests after the process stood still', async () => {
    const destinations = busy(schedule(), 100, FIRST_WINDOW);
    const before = begun(destinations);
    jest.advanceTimersByTime(60_000);
    await turn();
    expect(begun(destinations) - before).toBe(MOST);
  });

  it('serves one destination after the other', async () => {
    const destinations = busy(schedule(), LEAST / FIRST_WINDOW + LEAST, FIRST_WINDOW);
    // The first destinations have sent all they may. The others, which were idle, have sent one request each.
    const others = destinations.slice(LEAST / FIRST_WINDOW);
    expect(others.map(({ requests }) => requests.length)).toEqual(others.map(() => 1));
    await turn();
    expect(others.map(({ requests }) => requests.length)).toEqual(others.map(() => 2));
  });

  it('serves all destinations equally', async () => {
    const destinations = busy(schedule(), 60, 10_000);
    const answered = destinations.map(() => 0);
    for (let round = 0; round < 400; round++) {
      jest.advanceTimersByTime(TURN_OF_DESTINATION);
      destinations.forEach((destination, index) => {
        answered[index] = (answered[index] ?? 0) + destination.requests.length;
        destination.answer();
      });
      await turn();
    }
    expect(Math.max(...answered)).toBeLessThan(1.5 * Math.min(...answered));
  });

  it('has the same limit for destinations that wait for sockets', async () => {
    const SOCKETS = 64;
    const destinations = busy(schedule(SOCKETS), 100, 100, ['https://shared.example.com']);
    while (begun(destinations) < SOCKETS) await turn();
    await turn();
    jest.advanceTimersByTime(TURN_OF_DESTINATION);
    for (const destination of destinations) destination.answer();
    expect(begun(destinations)).toBe(LEAST);
    while (begun(destinations) < SOCKETS) await turn();
  });

  it('keeps free sockets of an origin for the destinations that have waited for them', async () => {
    const SOCKETS = 8;
    const origins = ['https://shared.example.com'];
    const scheduler = schedule(SOCKETS);
    const waiting = busy(scheduler, 2 * SOCKETS, 10, origins);
    await turn();
    expect(begun(waiting)).toBe(SOCKETS);
    // Other destinations have used up this turn by the time the sockets are free.
    busy(scheduler, LEAST, FIRST_WINDOW);
    jest.advanceTimersByTime(TURN_OF_DESTINATION);
    for (const destination of waiting) destination.answer();
    const newcomer = new TestDestination('newcomer', { origins });
    for (let n = 0; n < 2; n++) void scheduler.deliver(newcomer, messagesOf(10), firstAttempt());
    expect(newcomer.requests).toHaveLength(0);
    await turn();
    expect(begun(waiting)).toBeGreaterThan(0);
  });

  it('serves destinations that wait for the same sockets as much as others', async () => {
    const COUNT = 60;
    const scheduler = schedule();
    const together = busy(scheduler, COUNT, 10_000, ['https://shared.example.com']);
    // Until these destinations have all sockets, so that they wait for each other.
    while (begun(together) < 64) {
      await turn();
      for (const destination of together) destination.answer(1);
    }
    const alone = busy(scheduler, COUNT, 10_000);
    const answered = (destinations: readonly TestDestination[]): number => {
      const count = begun(destinations);
      for (const destination of destinations) destination.answer();
      return count;
    };
    let [ofTogether, ofAlone] = [0, 0];
    for (let round = 0; round < 500; round++) {
      jest.advanceTimersByTime(TURN_OF_DESTINATION);
      ofTogether += answered(together);
      ofAlone += answered(alone);
      await turn();
    }
    expect(ofTogether).toBeGreaterThan(0.9 * ofAlone);
  });

  it('gives an idle destination the sockets kept for it at an origin that another destination keeps busy', async () => {
    const SOCKETS = 16;
    const origins = ['https://shared.example.com'];
    const scheduler = schedule(SOCKETS);
    const idle = new TestDestination('idle', { origins });
    void scheduler.deliver(idle, messagesOf(1), firstAttempt());
    idle.answer();
    const other = busy(scheduler, 1, 1_000, origins);
    for (let n = 0; n < SOCKETS; n++) {
      await turn();
      for (const destination of other) destination.answer(1);
    }
    busy(scheduler, LEAST, 1);
    jest.advanceTimersByTime(TURN_OF_DESTINATION);
    for (const destination of other) destination.answer(1);
    void scheduler.deliver(idle, messagesOf(1), firstAttempt());
    expect(idle.requests).toHaveLength(1);
  });

  it('goes on to others after one round of the destinations that wait for the same sockets', async () => {
    const SOCKETS = 40;
    const scheduler = schedule(SOCKETS);
    const together = busy(scheduler, 2, 10_000, ['https://shared.example.com']);
    for (let n = 0; n < SOCKETS; n++) {
      await turn();
      jest.advanceTimersByTime(TURN_OF_DESTINATION);
      for (const destination of together) destination.answer(4);
    }
    while (begun(together) < SOCKETS) await turn();
    busy(scheduler, LEAST, 1);
    for (const destination of together) destination.answer(LEAST);
    const alone = busy(scheduler, LEAST, FIRST_WINDOW);
    await turn();
    expect(begun(alone)).toBe(2 * LEAST - together.length);
  });

  it('never begins more requests to an origin than it has sockets, however many destinations wait', async () => {
    const destinations = busy(schedule(8), 200, 20, ['https://shared.example.com']);
    let [most, answered] = [0, 0];
    while (answered < 200 * 20) {
      most = Math.max(most, begun(destinations));
      jest.advanceTimersByTime(3);
      for (const destination of destinations) {
        const waiting = destination.requests.length;
        destination.answer(1);
        answered += Math.min(waiting, 1);
      }
      await turn();
    }
    expect(most).toBe(8);
  });

  it('continues all work that earlier turns have cut off', async () => {
    const budget = new EventLoopBudget();
    const went: string[] = [];
    for (const one of ['first', 'second']) budget.continue(() => went.push(one));
    await turn();
    expect(went).toEqual(['first', 'second']);
  });

  it('spends nothing on messages that are settled without a request', async () => {
    const scheduler = schedule();
    const results = scheduler.deliver(
      new TestDestination('down', {}, 'deferred'),
      messagesOf(1_000),
      firstAttempt(),
    );
    const [other] = busy(scheduler, 1, FIRST_WINDOW);
    expect(other?.requests).toHaveLength(FIRST_WINDOW);
    expect(await results).toHaveLength(1_000);
  });

  it('settles all messages of a destination at once when they are held back', async () => {
    const scheduler = schedule();
    const down = new TestDestination('down');
    const results = scheduler.deliver(down, messagesOf(1_000), firstAttempt());
    busy(scheduler, 100, 1_000);
    down.answersAtOnce = 'deferred';
    down.answer();
    for (let n = 0; n < 100 / LEAST + 2; n++) await turn();
    let settled = 0;
    void results.then((end) => {
      if (!('wait' in end)) settled = end.length;
    });
    await turn();
    expect(settled).toBe(1_000);
  });

  it('begins a request at once when its time under a `rateLimit` has come', async () => {
    const scheduler = schedule();
    const limited = new TestDestination('limited', { rateLimit: 10 });
    void scheduler.deliver(limited, messagesOf(1), firstAttempt());
    busy(scheduler, 100, 1_000);
    expect(limited.requests).toHaveLength(0);
    for (let n = 0; n < 5; n++) await Promise.resolve();
    jest.advanceTimersByTime(5);
    expect(limited.requests).toHaveLength(1);
  });
});

import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DeliveryScheduler } from '../../src/delivery/delivery-scheduler.js';
import { EventLoopBudget } from '../../src/delivery/event-loop-budget.js';
import type { PutBackJob } from '../../src/delivery/put-back-jobs.js';
import { LocalRateLimitStore } from '../../src/delivery/rate-limits/rate-limit-store.js';
import type { DeliveryResult, Destination, SettleMessages } from '../../src/destinations/destination.js';
import type { QueuedMessage } from '../../src/queue/batch-job.js';
import { firstAttempt } from '../support/deliver-one.js';
import { messagesOf, TestDestination } from '../support/test-destination.js';
import { until } from '../support/until.js';

const OPTIONS = {
  requests: 64,
  connections: 64,
  batches: 4,
  jobs: 64,
  eventLoop: new EventLoopBudget(Infinity),
};

/** A job that is put back for a minute. */
function jobOf(key: string, messages: number, refusedBy: string[] = []): PutBackJob {
  return { key, messages, dueAt: Date.now() + 60_000, refusedBy };
}

const inUseAt = (origin: string, destinations: readonly TestDestination[]): number =>
  destinations.reduce((sum, { requests, origins }) => {
    return sum + requests.length * origins.filter((other) => other === origin).length;
  }, 0);

/** Length of a turn of a destination, in milliseconds. */
const TURN = 10;
/** Number of the 64 sockets of an origin that are reserved for destinations below their share. */
const RESERVED = 8;

/**
 * Answers one request of each destination in 500 rounds, each at the end of its turn. Returns the number of answers of
 * each destination, and the highest number of sockets in use at an origin. Needs fake timers.
 */
function answerInTurn(
  destinations: readonly TestDestination[],
  origins: readonly string[],
): { answered: number[]; most: number } {
  const answered = destinations.map(() => 0);
  let most = 0;
  for (let round = 0; round < 500; round++) {
    for (const [index, one] of destinations.entries()) {
      jest.advanceTimersByTime(TURN);
      if (one.requests.length > 0) answered[index] = (answered[index] ?? 0) + 1;
      one.answer(1);
      most = Math.max(most, ...origins.map((origin) => inUseAt(origin, destinations)));
    }
  }
  return { answered, most };
}

/**
 * Returns how often jobs of one message each are put back within this many seconds, after each was put back once, while
 * their destination does not answer. Needs fake timers.
 */
function looksWithin(
  seconds: number,
  jobs: number,
  scheduler: DeliveryScheduler,
  destination: TestDestination,
): number {
  for (let n = 0; n < 4; n++) void scheduler.deliver(destination, messagesOf(100), firstAttempt());
  const due = new Map<number, string[]>();
  const look = (key: string): void => {
    scheduler.returned(destination.id, key);
    const delay = scheduler.delayOf(destination, 1);
    if (delay <= 0) throw new Error('It should be put back');
    const dueAt = Date.now() + delay;
    const second = Math.ceil(dueAt / 1_000);
    const others = due.get(second);
    if (others === undefined) due.set(second, [key]);
    else others.push(key);
    scheduler.putBack(destination, [{ key, messages: 1, dueAt, refusedBy: [] }]);
  };
  for (let n = 0; n < jobs; n++) look(`job-${n}`);
  const first = Math.ceil(Date.now() / 1_000);
  let looks = 0;
  for (let second = first; second < first + seconds; second++) {
    jest.setSystemTime(second * 1_000);
    const keys = due.get(second) ?? [];
    due.delete(second);
    looks += keys.length;
    for (const key of keys) look(key);
  }
  return looks;
}

describe('the delivery scheduler', () => {
  let promoted: string[];

  afterEach(() => {
    jest.useRealTimers();
  });
  beforeEach(() => {
    promoted = [];
  });

  function schedule(
    options: Partial<typeof OPTIONS> & { maxSize?: number; lookedUpFor?: { jobs: number } } = {},
  ): DeliveryScheduler {
    return new DeliveryScheduler({
      ...OPTIONS,
      ...options,
      rateLimits: new LocalRateLimitStore(),
      promote: (key) => {
        promoted.push(key);
        return Promise.resolve();
      },
    });
  }

  /** Resolves to an empty array if the batch is given back. */
  const send = async (
    scheduler: DeliveryScheduler,
    to: Destination,
    count: number,
  ): Promise<readonly (DeliveryResult | undefined)[]> => {
    const end = await scheduler.deliver(to, messagesOf(count), firstAttempt());
    return 'wait' in end ? [] : end;
  };

  it('has been running since its start, or since the end of a long suspension of the process', () => {
    const start = Date.now();
    jest.useFakeTimers({ now: start });
    const scheduler = schedule();
    scheduler.start();
    jest.advanceTimersByTime(600_000);
    expect(scheduler.running.time).toBe(start);
    jest.setSystemTime(start + 6 * 3_600_000);
    expect(scheduler.running.time).toBe(start + 6 * 3_600_000);
    jest.advanceTimersByTime(600_000);
    expect(scheduler.running.time).toBe(start + 6 * 3_600_000);
    scheduler.stop();
  });

  it('has never been running since a future time, even if a clock that was ahead is set back', () => {
    const start = Date.now();
    jest.useFakeTimers({ now: start });
    const { running } = schedule();
    jest.setSystemTime(start + 24 * 3_600_000);
    running.tick();
    jest.setSystemTime(start + 60_000);
    expect(running.time).toBeLessThanOrEqual(start + 60_000);
  });

  describe('the window of a destination', () => {
    it('allows four requests at first, and one more with each request that is taken', () => {
      const crm = new TestDestination('crm');
      void send(schedule(), crm, 100);
      const rounds = Array.from({ length: 5 }, () => {
        const { length } = crm.requests;
        crm.answer();
        return length;
      });
      expect(rounds).toEqual([4, 8, 16, 32, 40]);
    });

    it('never grows beyond the number of connections', () => {
      const crm = new TestDestination('crm');
      void send(schedule({ connections: 6 }), crm, 100);
      crm.answer();
      crm.answer();
      expect(crm.requests).toHaveLength(6);
    });

    it('is halved once for all requests that fail together', () => {
      const crm = new TestDestination('crm');
      void send(schedule(), crm, 100);
      crm.answer();
      crm.answer();
      expect(crm.requests).toHaveLength(16);
      crm.answer(10, 'retry');
      expect(crm.requests).toHaveLength(8);
      crm.answer(8, 'retry');
      crm.answer(4, 'retry');
      expect(crm.requests.length).toBeLessThanOrEqual(4);
    });

    it.each([
      ['stays as it is while more comes within a second', 1_000, 'delivered', 12],
      ['begins anew where nothing has come for longer', 1_001, 'delivered', 4],
      ['begins anew where what came last has failed', 0, 'retry', 4],
    ] as const)('%s', async (_, pause, outcome, length) => {
      jest.useFakeTimers();
      const scheduler = schedule();
      const crm = new TestDestination('crm');
      const first = send(scheduler, crm, 12);
      crm.answer();
      crm.answer(8, outcome);
      await first;
      jest.advanceTimersByTime(pause);
      void send(scheduler, crm, 12);
      expect(crm.requests).toHaveLength(length);
    });

    it('counts requests, even if a request carries several messages', async () => {
      const scheduler = schedule();
      const bulk = new TestDestination('bulk', { requestSize: 10 });
      const batch = send(scheduler, bulk, 25);
      expect(bulk.requests.map(({ messages }) => messages.length)).toEqual([10, 10, 5]);
      bulk.answer();
      expect(await batch).toHaveLength(25);
    });
  });

  it('resolves to the result of each message, in the order of the messages', async () => {
    const crm = new TestDestination('crm');
    const results = send(schedule(), crm, 4);
    const [a, b, c, d] = crm.requests;
    d?.settle([{ class: 'permanent', outcomes: [] }]);
    b?.settle([{ class: 'retry', outcomes: [] }]);
    a?.settle([{ class: 'delivered', outcomes: [] }]);
    c?.settle([undefined]);
    expect((await results).map((result) => result?.class)).toEqual([
      'delivered',
      'retry',
      undefined,
      'permanent',
    ]);
  });

  it('handles any number of messages that are settled at once', async () => {
    const results = await send(schedule(), new TestDestination('down', {}, 'deferred'), 100_000);
    expect(results.every((result) => result?.class === 'deferred')).toBe(true);
  });

  describe('the requests of the process', () => {
    it('go out in turn if there are more than the process makes at once', () => {
      jest.useFakeTimers();
      const scheduler = schedule({ requests: 8 });
      const [busy, other] = [new TestDestination('busy'), new TestDestination('other')];
      void send(scheduler, busy, 1_000);
      busy.answer();
      busy.answer();
      expect(busy.requests).toHaveLength(8);
      void send(scheduler, other, 1_000);
      for (let round = 0; round < 50; round++) {
        jest.advanceTimersByTime(TURN);
        busy.answer(1);
        other.answer(1);
      }
      expect(busy.requests.length + other.requests.length).toBeLessThanOrEqual(9);
      expect(Math.abs(busy.requests.length - other.requests.length)).toBeLessThanOrEqual(2);
    });

    it.each([
      ['its turn is over', TURN, 'delivered'],
      ['one fails', 0, 'retry'],
    ] as const)('stay with their destination until %s', (_, elapsed, result) => {
      jest.useFakeTimers();
      const scheduler = schedule({ requests: 2 });
      const [busy, other] = [new TestDestination('busy'), new TestDestination('other')];
      for (const one of [busy, other]) void send(scheduler, one, 1_000);
      const underway = (): number[] => [busy.requests.length, other.requests.length];
      // The first request of a destination is never held back, so there is one request too many.
      expect(underway()).toEqual([2, 1]);
      busy.answer(1);
      expect(underway()).toEqual([2, 1]);
      jest.advanceTimersByTime(elapsed);
      busy.answer(1, result);
      expect(underway()).toEqual([1, 1]);
    });

    it('are counted for each URL of a destination, even after the destination changes', () => {
      const scheduler = schedule({ requests: 15 });
      const urls = (count: number): string[] =>
        Array.from({ length: count }, (_, n) => `https://${n}.example.com`);
      const wide = new TestDestination('wide', { origins: urls(5) });
      void send(scheduler, wide, 100);
      expect(wide.requests).toHaveLength(3);
      wide.answer();
      expect(wide.requests).toHaveLength(3);
      const narrow = new TestDestination('wide', { origins: urls(1) });
      void send(scheduler, narrow, 1);
      wide.answer();
      narrow.answer();
      // The window has grown with each request, up to the limit of the process.
      expect(narrow.requests.length).toBeGreaterThan(3);
      expect(narrow.requests.length).toBeLessThanOrEqual(15);
    });

    it('leave one request to a destination that has none, however many requests other destinations have', () => {
      const scheduler = schedule({ requests: 4 });
      const [busy, idle] = [new TestDestination('busy'), new TestDestination('idle')];
      void send(scheduler, busy, 100);
      expect(busy.requests).toHaveLength(4);
      void send(scheduler, idle, 1);
      expect(idle.requests).toHaveLength(1);
    });
  });

  describe('the sockets of an origin', () => {
    const origins = ['https://shared.example.com'];

    it('never exceed their limit, whichever destinations use them', () => {
      const scheduler = schedule({ connections: 8 });
      const paths = ['/a', '/b', '/c'].map((path) => new TestDestination(path, { origins }));
      for (const path of paths) void send(scheduler, path, 100);
      for (let round = 0; round < 10; round++) {
        expect(paths.reduce((sum, { requests }) => sum + requests.length, 0)).toBeLessThanOrEqual(8);
        for (const path of paths) path.answer(1);
      }
    });

    it('go to other destinations if the next message of a destination is held back', () => {
      const scheduler = schedule({ connections: 1 });
      const [held, other] = [
        new TestDestination('/held', { origins }),
        new TestDestination('/other', { origins }),
      ];
      void send(scheduler, held, 2);
      void send(scheduler, other, 1);
      held.answersAtOnce = 'deferred';
      held.answer();
      expect(other.requests).toHaveLength(1);
    });

    it('are partly left to a destination below its share while another destination hangs', () => {
      const scheduler = schedule({ connections: 16 });
      const [slow, fast] = ['/slow', '/fast'].map((path) => new TestDestination(path, { origins }));
      if (slow === undefined || fast === undefined) throw new Error('unreachable');
      void send(scheduler, fast, 1);
      fast.answer();
      void send(scheduler, slow, 1_000);
      for (let round = 0; round < 4; round++) slow.answer();
      // From now on the slow destination answers nothing.
      void send(scheduler, fast, 1);
      expect(fast.requests).toHaveLength(1);
    });

    it.each([8, 15, 40, 80])(
      'give a slow destination at least half of its fair share beside %d quick destinations',
      (count) => {
        jest.useFakeTimers({ now: Date.now() });
        const origins = ['https://shared.example.com'];
        const scheduler = schedule({ requests: 10_000 });
        const all = ['slow', ...Array.from({ length: count }, (_, n) => `quick-${n}`)].map(
          (id) => new TestDestination(id, { origins }),
        );
        const [slow, ...quick] = all;
        for (const one of all) for (let n = 0; n < 40; n++) void send(scheduler, one, 200);
        jest.advanceTimersByTime(2_000);
        slow?.answer(1);
        let held = 0;
        for (let round = 0; round < 400; round++) {
          for (const one of quick) {
            jest.advanceTimersByTime(TURN);
            one.answer(1);
          }
          if (round % 40 === 0) slow?.answer(1);
          held += slow?.requests.length ?? 0;
        }
        const share = 64 / all.length;
        expect(held / 400).toBeGreaterThan(share / 2);
      },
    );

    it('go in turn to a destination with a `rateLimit` as well, however late its turns come', async () => {
      jest.useFakeTimers({ now: Date.now() });
      const scheduler = schedule({ connections: 8 });
      const answered = new Map<string, number>();
      // Five messages a second is more than a fair share.
      const all = ['limited', ...Array.from({ length: 40 }, (_, n) => `slow-${n}`)].map((id) =>
        Object.assign(new TestDestination(id, { origins }), {
          rateLimit: id === 'limited' ? 5 : undefined,
          deliver: (messages: readonly QueuedMessage[], _terms: unknown, settle: SettleMessages) => {
            setTimeout(() => {
              answered.set(id, (answered.get(id) ?? 0) + 1);
              settle(messages.map(() => ({ class: 'delivered', outcomes: [] })));
            }, 2_000);
          },
        }),
      );
      for (const one of all) void send(scheduler, one, 1_000);
      await jest.advanceTimersByTimeAsync(200_000);
      const { limited = 0, ...others } = Object.fromEntries(answered);
      const mean = Object.values(others).reduce((sum, count) => sum + count, 0) / 40;
      expect(limited).toBeGreaterThan(mean / 2);
    });

    it('are partly left to a destination by others whose requests take long', async () => {
      jest.useFakeTimers({ now: Date.now(), doNotFake: ['setImmediate'] });
      const origin = 'https://shared.example.com';
      const scheduler = schedule({ connections: 16, requests: 1_000 });
      // Each request takes five of the sockets.
      const origins = new Array<string>(5).fill(origin);
      const slow = Array.from({ length: 8 }, (_, n) => new TestDestination(`slow-${n}`, { origins }));
      for (const one of slow) void send(scheduler, one, 20);
      for (let second = 0; second < 8; second++) {
        jest.advanceTimersByTime(2_000);
        for (const one of slow) one.answer(1);
      }
      const quick = new TestDestination('quick', { origins: [origin] });
      void send(scheduler, quick, 1);
      expect(quick.requests).toHaveLength(1);
      await new Promise((resolve) => setImmediate(resolve));
    });

    it('are left to a quick destination up to its share while slow destinations wait for more sockets', async () => {
      jest.useFakeTimers({ now: Date.now(), doNotFake: ['setImmediate'] });
      const origins = ['https://shared.example.com'];
      const scheduler = schedule({ requests: 1_000 });
      const slow = Array.from({ length: 4 }, (_, n) => new TestDestination(`slow-${n}`, { origins }));
      for (const one of slow) void send(scheduler, one, 1_000);
      for (let round = 0; round < 8; round++) {
        jest.advanceTimersByTime(2_000);
        const onTheirWay = slow.map(({ requests }) => requests.length);
        slow.forEach((one, n) => {
          one.answer(onTheirWay[n]);
        });
      }
      const heldBySlow = (): number => slow.reduce((sum, { requests }) => sum + requests.length, 0);
      expect(heldBySlow()).toBe(64 - RESERVED);
      const quick = new TestDestination('quick', { origins });
      void send(scheduler, quick, 1_000);
      for (let answered = 0; answered < 60; answered++) {
        jest.advanceTimersByTime(TURN);
        quick.answer(1);
      }
      expect(quick.requests).toHaveLength(RESERVED);
      expect(heldBySlow()).toBe(64 - RESERVED);
      await new Promise((resolve) => setImmediate(resolve));
    });

    it('are given back by each URL that has answered, even while another URL takes long', () => {
      const scheduler = schedule({ connections: 8 });
      const two = new TestDestination('two', { origins: [...origins, 'https://slow.example.com'] });
      const neighbour = new TestDestination('neighbour', { origins });
      void send(scheduler, two, 1_000);
      two.answer();
      two.answer();
      expect(two.requests).toHaveLength(8);
      void send(scheduler, neighbour, 4);
      expect(neighbour.requests).toHaveLength(0);
      for (const { answered } of two.requests.slice(0, 4)) answered?.(origins[0] ?? '');
      expect(neighbour.requests).toHaveLength(4);
      // The sockets are not given back twice.
      two.answer(4);
      expect(inUseAt(origins[0] ?? '', [two, neighbour])).toBeLessThanOrEqual(8);
    });

    it('are counted for each URL of a destination', () => {
      const scheduler = schedule({ connections: 8 });
      const twice = new TestDestination('twice', { origins: [...origins, ...origins] });
      void send(scheduler, twice, 100);
      twice.answer();
      expect(twice.requests).toHaveLength(4);
    });

    it('go to a destination with several URLs at the origin although others take each free socket', () => {
      jest.useFakeTimers();
      const scheduler = schedule({ connections: 8 });
      const busy = Array.from({ length: 12 }, (_, n) => new TestDestination(`/${n}`, { origins }));
      for (const one of busy) void send(scheduler, one, 1_000);
      const wide = new TestDestination('wide', {
        origins: Array<string>(5).fill('https://shared.example.com'),
      });
      void send(scheduler, wide, 1_000);
      const all = [wide, ...busy];
      const { answered, most } = answerInTurn(all, origins);
      // A turn is a request, and all destinations get the same number.
      expect(Math.min(...answered)).toBeGreaterThan(0.8 * Math.max(...answered));
      // One socket is free, and the request needs five.
      expect(most).toBe(8 + 4);
    });

    it('go to a destination with URLs at two origins although their sockets are never free at the same time', () => {
      jest.useFakeTimers();
      const scheduler = schedule({ connections: 8 });
      const both = ['https://a.example.com', 'https://b.example.com'];
      const busy = both.flatMap((origin, at) =>
        Array.from({ length: 12 }, (_, n) => new TestDestination(`${at}/${n}`, { origins: [origin] })),
      );
      for (const one of busy) void send(scheduler, one, 1_000);
      const two = new TestDestination('two', { origins: both });
      void send(scheduler, two, 1_000);
      const all = [two, ...busy];
      const { answered, most } = answerInTurn(all, both);
      expect(answered[0]).toBeGreaterThan(0.8 * Math.max(...answered));
      // The destination has waited its turn at one origin, and sends at its turn at the other origin.
      expect(most).toBe(8 + 1);
    });

    it('all go to one destination when the others have had nothing to do for two minutes', () => {
      jest.useFakeTimers();
      const scheduler = schedule({ connections: 8 });
      scheduler.start();
      const [busy, gone] = ['/busy', '/gone'].map((path) => new TestDestination(path, { origins }));
      if (busy === undefined || gone === undefined) throw new Error('unreachable');
      for (const one of [busy, gone]) void send(scheduler, one, 1);
      busy.answer();
      gone.answer();
      jest.advanceTimersByTime(120_000);
      void send(scheduler, busy, 100);
      busy.answer();
      busy.answer();
      // Nothing else ever asks for the socket that was kept for the other destination.
      expect(busy.requests).toHaveLength(8);
      scheduler.stop();
    });

    it('do not stop a request that needs more sockets than there are', () => {
      const wide = new TestDestination('wide', { origins: [...origins, ...origins, ...origins] });
      void send(schedule({ connections: 2 }), wide, 2);
      expect(wide.requests).toHaveLength(1);
      wide.answer();
      expect(wide.requests).toHaveLength(1);
    });
  });

  describe('the jobs in hand', () => {
    it('are taken while their destination has no other job', () => {
      expect(schedule().delayOf(new TestDestination('idle'), 200)).toBe(0);
    });

    it('are put back beyond the share of their destination, while jobs of other destinations are taken', () => {
      const scheduler = schedule();
      const slow = new TestDestination('slow');
      void send(scheduler, slow, 200);
      void send(scheduler, slow, 200);
      expect(scheduler.delayOf(slow, 200)).toBeGreaterThan(0);
      expect(scheduler.delayOf(new TestDestination('idle'), 200)).toBe(0);
    });

    /** Sends batches of 200 messages in pairs. Requests are answered in 2 ms, and the next pair comes 3 ms later. */
    const sendInPairs = async (
      scheduler: DeliveryScheduler,
      destination: TestDestination,
      pairs: number,
      onPair = (): void => undefined,
    ): Promise<void> => {
      for (let pair = 0; pair < pairs; pair++) {
        const ended = [send(scheduler, destination, 200), send(scheduler, destination, 200)];
        onPair();
        while (destination.requests.length > 0) {
          jest.advanceTimersByTime(2);
          destination.answer();
        }
        jest.advanceTimersByTime(3);
        await Promise.all(ended);
      }
    };

    it('are more for a fast destination, even if it has finished all jobs before the next jobs come', async () => {
      jest.useFakeTimers();
      const scheduler = schedule();
      const fast = new TestDestination('fast');
      const isTaken = (): boolean => scheduler.delayOf(fast, 10_000) === 0;
      await sendInPairs(scheduler, fast, 2, () => {
        expect(isTaken()).toBe(false);
      });
      await sendInPairs(scheduler, fast, 10);
      await sendInPairs(scheduler, fast, 1, () => {
        expect(isTaken()).toBe(true);
      });
    });

    it('are not put back for long by a destination of whose answers only the last took long', async () => {
      jest.useFakeTimers();
      const scheduler = schedule();
      const uneven = new TestDestination('uneven');
      for (let pair = 0; pair < 5; pair++) {
        const ended = [send(scheduler, uneven, 20), send(scheduler, uneven, 20)];
        while (uneven.requests.length > 1) {
          jest.advanceTimersByTime(2);
          uneven.answer(uneven.requests.length - 1);
        }
        jest.advanceTimersByTime(900);
        uneven.answer();
        await Promise.all(ended);
      }
      void send(scheduler, uneven, 200);
      void send(scheduler, uneven, 200);
      scheduler.putBack(uneven, [jobOf('a', 10_000)]);
      const longestOfUnknown = 1_500;
      expect(scheduler.delayOf(uneven, 200)).toBeLessThanOrEqual(longestOfUnknown);
    });

    it('are not more for a destination that has had few messages at a time', async () => {
      jest.useFakeTimers();
      const scheduler = schedule();
      const rare = new TestDestination('rare');
      for (let message = 0; message < 200; message++) {
        const ended = send(scheduler, rare, 1);
        jest.advanceTimersByTime(1);
        rare.answer();
        await ended;
      }
      void send(scheduler, rare, 200);
      void send(scheduler, rare, 200);
      expect(scheduler.delayOf(rare, 200)).toBeGreaterThan(0);
    });

    /** Offers a batch of each destination. Returns how many batches the scheduler takes. */
    const offer = (scheduler: DeliveryScheduler, destinations: readonly Destination[]): number => {
      let taken = 0;
      for (const destination of destinations) {
        if (scheduler.delayOf(destination, 1) > 0) continue;
        void send(scheduler, destination, 1);
        taken++;
      }
      return taken;
    };
    const destinations = (name: string, count: number, origins?: string[]): TestDestination[] =>
      Array.from({ length: count }, (_, n) => new TestDestination(`${name}-${n}`, origins && { origins }));

    it.each([
      ['many destinations have reached their limit', 32, 0],
      ['many wait for look-ups', 64, 32],
    ])('leave places to newcomers, however %s', (_, jobs, waiting) => {
      const scheduler = schedule({ jobs, lookedUpFor: { jobs: waiting } });
      const hanging = destinations('hanging', 20);
      expect([offer(scheduler, hanging), offer(scheduler, hanging)]).toEqual([20, 4]);
      expect(offer(scheduler, destinations('idle', 8))).toBe(8);
    });

    it('are divided once a quarter of the places are taken', () => {
      const scheduler = schedule({ jobs: 128 });
      const [first, second] = [new TestDestination('first'), new TestDestination('second')];
      const often = (one: Destination): Destination[] => new Array<Destination>(20).fill(one);
      expect(offer(scheduler, [first, second, ...destinations('other', 22)])).toBe(24);
      expect([offer(scheduler, often(first)), offer(scheduler, often(second))]).toEqual([8, 3]);
    });

    it('take more places the larger they are, once for all destinations of their messages', () => {
      const scheduler = schedule({ maxSize: 64_000 });
      const busy = new TestDestination('busy');
      const job = { size: 30_000 };
      const deliver = (to: Destination): void => {
        void scheduler.deliver(to, messagesOf(1), firstAttempt(), job);
      };
      deliver(busy);
      for (let n = 0; n < 10; n++) deliver(new TestDestination(`other-${n}`));
      expect(scheduler.delayOf(busy, 1)).toBe(0);
      void scheduler.deliver(busy, messagesOf(1), firstAttempt(), { size: 20_000 });
      expect(scheduler.delayOf(busy, 1)).toBeGreaterThan(0);
    });

    it('take places for all of their messages until the settled messages are removed from them', () => {
      const scheduler = schedule({ maxSize: 64_000 });
      const hanging = new TestDestination('hanging');
      const job = { size: 60_000 };
      void scheduler.deliver(hanging, messagesOf(1), firstAttempt(), job);
      expect(scheduler.delayOf(hanging, 1)).toBeGreaterThan(0);
      job.size = 10;
      scheduler.shrunk(job);
      expect(scheduler.delayOf(hanging, 1)).toBe(0);
    });

    it('do not all belong to destinations that wait for the sockets of one origin', () => {
      const scheduler = schedule({ jobs: 32, connections: 4 });
      const hanging = destinations('hanging', 40, ['https://hanging.example.com']);
      expect(offer(scheduler, hanging)).toBe(24);
      expect(offer(scheduler, destinations('idle', 8))).toBe(8);
    });

    it('are put back for a second or so, however many destinations have had messages and wait for nothing', async () => {
      const scheduler = schedule({ jobs: 32 });
      for (const one of destinations('idle', 5_000)) {
        const sent = send(scheduler, one, 1);
        one.answer();
        await sent;
      }
      const healthy = new TestDestination('healthy');
      expect(offer(scheduler, [...destinations('hanging', 23), healthy])).toBe(24);
      const delay = scheduler.delayOf(healthy, 1);
      expect(delay).toBeGreaterThan(0);
      expect(delay).toBeLessThanOrEqual(1_500);
    });

    it('are put back for longer the more destinations wait for places, but not if the process ends', () => {
      jest.useFakeTimers({ now: Date.now() });
      const scheduler = schedule({ jobs: 32 });
      const [busy, ...hanging] = destinations('hanging', 24);
      if (busy === undefined) throw new Error('unreachable');
      offer(scheduler, [busy, ...hanging]);
      scheduler.start();
      for (const one of destinations('waiting', 200)) scheduler.putBack(one, [jobOf(one.id, 1)]);
      jest.advanceTimersByTime(100);
      // One of them looks for a place every 50 ms.
      expect(scheduler.delayOf(busy, 1)).toBeGreaterThanOrEqual(5_000);
      scheduler.stop();
      expect(scheduler.delayOf(busy, 1)).toBe(250);
    });

    it('are put back for seconds if requests fail, however few requests end', () => {
      jest.useFakeTimers({ now: Date.now() });
      const scheduler = schedule();
      const hanging = new TestDestination('hanging');
      void send(scheduler, hanging, 200);
      void send(scheduler, hanging, 200);
      // Each request takes a second until it times out.
      for (let second = 0; second < 5; second++) {
        jest.advanceTimersByTime(1_000);
        hanging.answer(1, 'retry');
      }
      expect(scheduler.delayOf(hanging, 200)).toBeGreaterThan(0);
      expect(scheduler.delayOf(hanging, 200)).toBeLessThanOrEqual(1_500);
    });

    it('are left to newcomers by destinations whose latest request failed', async () => {
      const scheduler = schedule({ jobs: 32 });
      const failing = destinations('failing', 32);
      expect(offer(scheduler, failing)).toBe(32);
      for (const one of failing) one.answer(1, 'retry');
      await new Promise((resolve) => setImmediate(resolve));
      expect(offer(scheduler, failing)).toBe(24);
      expect(offer(scheduler, destinations('idle', 8))).toBe(8);
    });

    it('are left to newcomers by destinations whose latest request took long', async () => {
      jest.useFakeTimers({ now: Date.now(), doNotFake: ['setImmediate'] });
      const scheduler = schedule({ jobs: 32 });
      const slow = destinations('slow', 32);
      expect(offer(scheduler, slow)).toBe(32);
      jest.advanceTimersByTime(2_000);
      for (const one of slow) one.answer(1);
      await new Promise((resolve) => setImmediate(resolve));
      expect(offer(scheduler, slow)).toBe(28);
      expect(offer(scheduler, destinations('idle', 4))).toBe(4);
    });

    it.each([
      ['stay left to them when these had nothing to do for minutes', 2_000, [28, 4]],
      ['are for all again once these are quick', 0, [32, 0]],
    ])('%s', async (_, latest, taken) => {
      jest.useFakeTimers({ now: Date.now(), doNotFake: ['setImmediate'] });
      const scheduler = schedule({ jobs: 32 });
      scheduler.start();
      const slow = destinations('slow', 32);
      for (const duration of [2_000, latest]) {
        for (const half of [slow.slice(0, 16), slow.slice(16)]) {
          offer(scheduler, half);
          jest.advanceTimersByTime(duration);
          for (const one of half) one.answer(1);
          await new Promise((resolve) => setImmediate(resolve));
        }
        jest.advanceTimersByTime(125_000);
      }
      expect([offer(scheduler, slow), offer(scheduler, destinations('idle', 4))]).toEqual(taken);
      scheduler.stop();
    });

    it('are given back to newcomers by destinations that turn out to be slow', async () => {
      jest.useFakeTimers({ now: Date.now(), doNotFake: ['setImmediate'] });
      const scheduler = schedule({ jobs: 32, requests: 1_000 });
      scheduler.start();
      const slow = destinations('slow', 32);
      const results = slow.map((one) => send(scheduler, one, 20));
      jest.advanceTimersByTime(1_200);
      // Requests on their way are awaited. The rest went back.
      const onTheirWay = slow.map(({ requests }) => requests.length);
      for (const one of slow) one.answer();
      expect(slow.flatMap(({ requests }) => requests)).toEqual([]);
      const delivered = (await Promise.all(results)).map(
        (all) => all.filter((result) => result?.class === 'delivered').length,
      );
      expect(delivered).toEqual(onTheirWay);
      expect(offer(scheduler, destinations('newcomer', 4))).toBe(4);
      scheduler.stop();
    });

    it('are kept by slow destinations that leave enough places to others', () => {
      jest.useFakeTimers({ now: Date.now() });
      const scheduler = schedule({ jobs: 32, requests: 1_000 });
      scheduler.start();
      const slow = destinations('slow', 28);
      for (const one of slow) void send(scheduler, one, 20);
      jest.advanceTimersByTime(600);
      expect(offer(scheduler, destinations('quick', 4))).toBe(4);
      jest.advanceTimersByTime(600);
      for (const one of slow) one.answer();
      expect(slow.every(({ requests }) => requests.length > 0)).toBe(true);
      scheduler.stop();
    });

    it('are promoted in turn if many destinations wait for a place', () => {
      jest.useFakeTimers();
      const scheduler = schedule({ jobs: 4, connections: 1 });
      const holding = destinations('holding', 2);
      offer(scheduler, holding);
      for (const waiting of destinations('waiting', 5)) {
        const jobs = ['a', 'b', 'c'].map((name) => `${waiting.id}-${name}`);
        scheduler.putBack(
          waiting,
          jobs.map((key) => jobOf(key, 8)),
        );
      }
      scheduler.start();
      jest.advanceTimersByTime(100);
      // One place is left, and no job takes it.
      expect(promoted).toHaveLength(1);
      jest.advanceTimersByTime(400);
      scheduler.stop();
      expect(promoted.map((key) => key.slice(0, -2))).toEqual(destinations('waiting', 5).map(({ id }) => id));
    });

    it('are promoted when the jobs in hand are nearly drained', () => {
      const scheduler = schedule();
      const slow = new TestDestination('slow');
      void send(scheduler, slow, 4);
      for (const key of ['a', 'b', 'c', 'd']) {
        scheduler.putBack(slow, [jobOf(key, 6)]);
      }
      expect(promoted).toEqual([]);
      slow.answer();
      // Two windows of seven messages are three jobs of six.
      expect(promoted).toEqual(['a', 'b', 'c']);
    });

    it('are no longer promoted when the process ends', () => {
      const scheduler = schedule();
      const slow = new TestDestination('slow');
      void send(scheduler, slow, 4);
      scheduler.putBack(slow, [jobOf('a', 6)]);
      scheduler.stop();
      slow.answer();
      expect(promoted).toEqual([]);
    });

    it('are promoted while a second of work is left, since another process may take them', () => {
      jest.useFakeTimers();
      const scheduler = schedule();
      const slow = new TestDestination('slow');
      let unsent = 3_000;
      void send(scheduler, slow, unsent);
      scheduler.putBack(slow, [jobOf('a', 20)]);
      scheduler.start();
      while (promoted.length === 0 && unsent > 0) {
        unsent -= slow.requests.length;
        slow.answer();
        jest.advanceTimersByTime(100);
      }
      scheduler.stop();
      // 64 requests each 100 ms.
      expect(unsent).toBeGreaterThan(480);
      expect(unsent).toBeLessThan(800);
    });

    it('are promoted repeatedly if another process takes them', async () => {
      const scheduler = schedule();
      const slow = new TestDestination('slow');
      for (const key of ['a', 'b', 'c']) {
        scheduler.putBack(slow, [jobOf(key, 8)]);
      }
      scheduler.start();
      await until(() => Promise.resolve(promoted.length === 3 ? true : undefined));
      scheduler.stop();
      expect(promoted).toEqual(['a', 'b', 'c']);
    });

    it('have the usual time to return before further jobs are promoted', async () => {
      jest.useFakeTimers();
      const scheduler = schedule();
      const slow = new TestDestination('slow');
      const keys = Array.from({ length: 8 }, (_, index) => `job-${index}`);
      scheduler.putBack(
        slow,
        keys.map((key) => jobOf(key, 8)),
      );
      scheduler.start();
      for (const key of keys.slice(0, 6)) {
        await jest.advanceTimersByTimeAsync(240);
        scheduler.returned('slow', key);
      }
      await jest.advanceTimersByTimeAsync(500);
      // No other process has taken the job: the queue is slow.
      expect(promoted).toEqual(keys.slice(0, 7));
      await jest.advanceTimersByTimeAsync(500);
      expect(promoted).toEqual(keys);
      scheduler.stop();
    });

    it('are not promoted for a destination that is held back', () => {
      const scheduler = schedule();
      const down = new TestDestination('down');
      void send(scheduler, down, 4);
      scheduler.putBack(down, [jobOf('a', 1)]);
      down.wait = 1_000;
      down.answer(4, 'retry');
      expect(promoted).toEqual([]);
    });

    it('are not promoted while all URLs are down that have not refused them, unlike other jobs', () => {
      const scheduler = schedule();
      const half = new TestDestination('half');
      half.waitOfRefused = 1_000;
      void send(scheduler, half, 4);
      scheduler.putBack(half, [
        jobOf('refused', 2, ['up']),
        jobOf('new', 2),
        jobOf('refused too', 2, ['up']),
      ]);
      half.answer();
      expect(promoted).toEqual(['new']);
    });

    it('are promoted in turn with other jobs although one URL has refused them, once the other URLs are up', () => {
      const scheduler = schedule();
      const up = new TestDestination('up');
      void send(scheduler, up, 4);
      const ofNew = ['a', 'b', 'c', 'd', 'e'].map((key) => jobOf(key, 3));
      scheduler.putBack(up, [...ofNew, jobOf('refused', 3, ['up'])]);
      up.answer();
      expect(promoted).toEqual(['a', 'refused', 'b', 'c', 'd']);
    });

    it('are remembered up to 100,000 for all destinations together, and up to ten of each beyond that', async () => {
      jest.useFakeTimers();
      const scheduler = schedule();
      for (const down of destinations('down', 10)) {
        down.wait = 60_000;
        const jobs = Array.from({ length: 10_000 }, (_, n) => jobOf(`${down.id}-${n}`, 1));
        scheduler.putBack(down, jobs);
      }
      const keys = Array.from({ length: 15 }, (_, n) => `late-${n}`);
      scheduler.putBack(
        new TestDestination('late'),
        keys.map((key) => jobOf(key, 1)),
      );
      scheduler.start();
      await jest.advanceTimersByTimeAsync(2_000);
      scheduler.stop();
      expect(promoted).toEqual(keys.slice(0, 10));
    });

    it('are looked at equally rarely in total, however many more jobs there are than can be remembered', () => {
      jest.useFakeTimers();
      const looks = [10_000, 20_000, 40_000].map((jobs) =>
        looksWithin(600, jobs, schedule(), new TestDestination('down')),
      );
      // Twenty jobs a second.
      for (const count of looks) expect(count).toBeLessThan(1.5 * 20 * 600);
    });

    it('wait for all jobs before them, even if the memory is full of jobs of other destinations', () => {
      jest.useFakeTimers();
      const scheduler = schedule();
      for (const down of destinations('down', 10)) {
        scheduler.putBack(
          down,
          Array.from({ length: 10_000 }, (_, n) => jobOf(`${down.id}-${n}`, 1)),
        );
      }
      const looks = looksWithin(600, 5_000, scheduler, new TestDestination('limited', { rateLimit: 10 }));
      expect(looks).toBeLessThan(2 * 20 * 600);
    });

    it('are forgotten when they are due, even while their destination is held back', () => {
      jest.useFakeTimers();
      const scheduler = schedule();
      const down = new TestDestination('down');
      down.wait = 60_000;
      scheduler.start();
      for (const [key, due] of Object.entries({ a: 50, b: 50, c: 60_000 })) {
        scheduler.putBack(down, [{ ...jobOf(key, 1), dueAt: Date.now() + due }]);
      }
      // Another batch is looked at again after the batches that wait before it.
      const ofThree = scheduler.lookAgainAfter(down, 0);
      jest.advanceTimersByTime(2_000);
      expect(scheduler.lookAgainAfter(down, 0)).toBe(ofThree / 3);
      scheduler.stop();
    });
  });

  describe('a destination that changes', () => {
    it('gets its waiting messages at its new origin, and takes sockets there', async () => {
      const scheduler = schedule({ connections: 4 });
      const before = new TestDestination('crm', { origins: ['https://old.example.com'] });
      const first = send(scheduler, before, 6);
      expect(before.requests).toHaveLength(4);
      const now = new TestDestination('crm', { origins: ['https://new.example.com'] });
      const second = send(scheduler, now, 2);
      before.answer();
      now.answer();
      now.answer();
      expect((await first).map((result) => result?.class)).toEqual(Array(6).fill('delivered'));
      expect(await second).toHaveLength(2);
      // The sockets of the previous origin were given back.
      const neighbour = new TestDestination('neighbour', { origins: ['https://old.example.com'] });
      void send(scheduler, neighbour, 4);
      expect(neighbour.requests).toHaveLength(4);
    });

    it('goes on at its new origin even if only a job that was put back has shown the change', () => {
      const scheduler = schedule({ connections: 1 });
      const origins = ['https://shared.example.com'];
      const neighbour = new TestDestination('neighbour', { origins });
      void send(scheduler, neighbour, 1);
      const before = new TestDestination('crm', { origins });
      void send(scheduler, before, 1);
      void send(scheduler, before, 1);
      expect(before.requests).toHaveLength(0);
      const now = new TestDestination('crm', { origins: ['https://new.example.com'] });
      scheduler.putBack(now, [jobOf('a', 1)]);
      expect(now.requests).toHaveLength(1);
      now.answer();
      now.answer();
      expect(promoted).toEqual(['a']);
    });

    it('still counts as slow, so that only one slow destination at a time gets sockets kept for others', () => {
      jest.useFakeTimers({ now: Date.now() });
      const scheduler = schedule({ connections: 16 });
      const origins = ['https://shared.example.com'];
      const [busy, quick] = ['busy', 'quick'].map((id) => new TestDestination(id, { origins }));
      if (busy === undefined || quick === undefined) throw new Error('unreachable');
      void send(scheduler, quick, 1);
      quick.answer();
      void send(scheduler, busy, 1_000);
      for (let round = 0; round < 4; round++) busy.answer();
      const before = ['a', 'b'].map((id) => new TestDestination(id));
      for (const one of before) void send(scheduler, one, 1);
      jest.advanceTimersByTime(2_000);
      for (const one of before) one.answer();
      const now = before.map(({ id }) => new TestDestination(id, { origins }));
      for (const one of now) void send(scheduler, one, 1);
      void send(scheduler, quick, 1);
      expect([...now, quick].map(({ requests }) => requests.length)).toEqual([1, 0, 1]);
    });

    it('leaves the sockets that it gives back to the destinations that wait for them', () => {
      const scheduler = schedule({ connections: 4 });
      const origins = ['https://shared.example.com'];
      const before = new TestDestination('crm', { origins });
      void send(scheduler, before, 4);
      const neighbour = new TestDestination('neighbour', { origins });
      void send(scheduler, neighbour, 2);
      expect([before.requests.length, neighbour.requests.length]).toEqual([4, 0]);
      const now = new TestDestination('crm', { origins: ['https://new.example.com'] });
      void send(scheduler, now, 1);
      before.answer();
      expect(neighbour.requests).toHaveLength(2);
    });
  });
});

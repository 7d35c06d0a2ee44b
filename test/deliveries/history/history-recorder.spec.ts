import { beforeEach, describe, expect, it } from '@jest/globals';
import { HistoryLog } from '../../../src/deliveries/history/history-log.js';
import { HistoryRecorder } from '../../../src/deliveries/history/history-recorder.js';
import {
  ALL_DESTINATIONS,
  type HistoryStore,
  ordinalOf,
  type StoredHistory,
  type StoredPeriods,
} from '../../../src/deliveries/history/history-store.js';
import type { BatchMessage, QueuedBatch, UrlOutcome } from '../../../src/queue/batch-job.js';
import { excerptOf } from '../../../src/shared/excerpt.js';
import { FakeClock } from '../../support/fake-clock.js';
import { heldBytes } from '../../support/heap.js';
import { LogLines } from '../../support/log-lines.js';

/** Milliseconds between two writes. */
const INTERVAL = 2_000;
const NOW = 490_000 * 3_600_000;
const DELIVERED = { state: 'delivered', error: undefined } as const;

/** Keeps what is written, unless it is set to fail or to be silent. */
class TestStore implements Pick<HistoryStore, 'write' | 'groupOf'> {
  groupOf: HistoryStore['groupOf'];
  readonly writes: (readonly StoredHistory[])[] = [];
  readonly minutes: StoredPeriods[] = [];
  failure: Error | undefined;
  refusals = 0;
  /** While this is set, the store does not answer. */
  silence: Promise<void> | undefined;
  /** Like `silence`, but for writes that go to one node of a cluster. */
  silenceOf: (histories: readonly StoredHistory[]) => Promise<void> | undefined = () => undefined;

  async write(histories: readonly StoredHistory[], _now: number, minutes: StoredPeriods = []): Promise<void> {
    await this.silence;
    await this.silenceOf(histories);
    if (this.failure !== undefined) {
      this.refusals++;
      throw this.failure;
    }
    this.writes.push(histories);
    this.minutes.push(minutes);
  }

  /** The ids of all entries of a destination, in the order in which they were written. */
  idsOf(destination: string): string[] {
    return this.writes
      .flat()
      .filter((history) => history.destination === destination)
      .flatMap(({ entries }) => entries.map(({ messageId }) => messageId));
  }
}

function outcome(given: Partial<UrlOutcome> = {}): UrlOutcome {
  return { url: 'hash', class: 'delivered', status: 200, attempt: 1, at: NOW, duration: 10, ...given };
}

function message(id: string, outcomes = [outcome()], fields: object = {}): BatchMessage {
  const body = JSON.stringify({ version: 1, type: 'track', userId: 'u1', event: 'Paid', ...fields });
  return { id, body, outcomes };
}

/** Outcomes of three attempts. */
const OUTCOMES = [1, 2, 3].map((attempt) => outcome({ class: 'retry', status: 503, attempt }));

/** A batch before its attempt. */
function batch(messages: readonly BatchMessage[], destination = 'crm'): QueuedBatch {
  return { destination, source: 'web', messages: messages.map((one) => ({ ...one, outcomes: [] })) };
}

describe('the history recorder', () => {
  let store: TestStore;
  let clock: FakeClock;
  let lines: LogLines;
  let recorder: HistoryRecorder;
  let isQueueUp: boolean;
  let deleted: Set<string>;
  let tenants: Map<string, string>;
  let lookUpFailure: Error | undefined;
  let lookUpSilence: Promise<void> | undefined;
  let clockError: number;

  beforeEach(() => {
    store = new TestStore();
    clock = new FakeClock();
    lines = new LogLines();
    isQueueUp = true;
    deleted = new Set();
    tenants = new Map();
    lookUpFailure = undefined;
    lookUpSilence = undefined;
    clockError = 0;
    recorder = new HistoryRecorder({
      store,
      clock,
      log: new HistoryLog(
        {
          warn: (text) => {
            lines.warn(text, 'Analytics');
          },
          log: (text) => {
            lines.log(text, 'Analytics');
          },
        },
        () => clock.now(),
      ),
      isQueueUp: () => isQueueUp,
      ownerOf: (destination) => tenants.get(destination) ?? destination,
      deletedAmong: async (ids) => {
        await lookUpSilence;
        if (lookUpFailure !== undefined) throw lookUpFailure;
        return new Set(ids.filter((id) => deleted.has(id)));
      },
      now: () => NOW + clock.now() + clockError,
    });
  });

  function delivered(messages: readonly BatchMessage[], destination = 'crm'): void {
    recorder.record(batch(messages, destination), messages, DELIVERED);
  }

  const many = (count: number, first = 0): BatchMessage[] =>
    Array.from({ length: count }, (_, index) => message(`m${first + index}`));

  /** Lets time pass until the condition holds: a long write yields to other work now and then. */
  async function eventually(isSo: () => boolean): Promise<void> {
    while (!isSo()) await clock.pass(INTERVAL);
  }

  it('writes every two seconds, however many batches there are, and nothing while nothing happens', async () => {
    delivered([message('a')]);
    delivered([message('b')]);
    delivered([message('c')], 'other');
    expect(store.writes).toEqual([]);
    await eventually(() => store.writes.length > 0);
    expect(store.writes).toHaveLength(1);
    expect(store.idsOf('crm')).toEqual(['a', 'b']);
    expect(store.idsOf('other')).toEqual(['c']);
    expect(clock.pending).toBe(0);
    delivered([message('d')]);
    await eventually(() => store.writes.length > 1);
    expect(store.idsOf('crm')).toEqual(['a', 'b', 'd']);
  });

  /** Records two messages with the clock set back between them. Resolves to how much later the second appears. */
  async function laterAfter(setBack: number): Promise<number> {
    clockError = setBack;
    delivered([message('a')]);
    clockError = 0;
    delivered([message('b')]);
    await recorder.close();
    const [first = NaN, second = NaN] = store.writes
      .flat()
      .flatMap(({ entries }) => entries.map(({ ordinal }) => ordinal));
    return second - first;
  }

  it('keeps entries in order when the clock is set back by seconds', async () => {
    expect(await laterAfter(3_000)).toBeGreaterThan(0);
  });

  it('follows the clock when it is set back by hours, and hides no deliveries of other processes', async () => {
    expect(await laterAfter(3 * 3_600_000)).toBe(ordinalOf(-3 * 3_600_000));
  });

  it('does not keep the process alive, and writes the rest when it is closed', async () => {
    delivered([message('a')]);
    expect(clock.holding).toBe(0);
    await recorder.close();
    expect(store.idsOf('crm')).toEqual(['a']);
    delivered([message('late')]);
    expect(clock.pending).toBe(0);
  });

  it('keeps nothing of a message but its type and the name of its event', async () => {
    const properties = { card: 'visa', event: 'not this one' };
    const secret = message('a', [outcome()], { properties, context: { ip: '203.0.113.7' } });
    recorder.record(batch([secret]), [secret], { state: 'failed', error: 'DESTINATION_DISABLED' });
    await recorder.close();
    const [entry] = store.writes[0]?.[0]?.entries ?? [];
    const head = {
      type: 'track',
      event: 'Paid',
      source: 'web',
      state: 'failed',
      error: 'DESTINATION_DISABLED',
    };
    expect(entry?.head).toEqual(head);
    expect(JSON.stringify(store.writes)).not.toMatch(/u1|visa|203\.0/);
  });

  it('holds no message bodies while the store does not answer', async () => {
    store.silence = new Promise<void>(() => undefined);
    delivered([message('first')]);
    await clock.pass(INTERVAL);
    const before = await heldBytes();
    for (let n = 0; n < 1_000; n++) {
      const properties = { text: `${n}`.padEnd(20_000, 'x') };
      delivered([message(`m${n}`, [outcome()], { event: `An event named ${n}`, properties })], `d${n % 20}`);
    }
    await clock.pass(INTERVAL);
    // The bodies of the last messages alone have 3.2 million characters.
    expect((await heldBytes()) - before).toBeLessThan(2_500_000);
  });

  it.each([
    ['names of events', (n: number) => message(`m${n}`, [outcome()], { event: `${n}`.padEnd(30_000, 'x') })],
    [
      'answers',
      (n: number) => {
        const excerpt = excerptOf(Buffer.alloc(1_024, n % 8));
        return message(`m${n}`, [outcome({ class: 'permanent', excerpt })]);
      },
    ],
  ])('holds only the beginnings of long %s while the store does not answer', async (_, messageOf) => {
    store.silence = new Promise<void>(() => undefined);
    delivered([message('first')]);
    await clock.pass(INTERVAL);
    const before = await heldBytes();
    for (let n = 0; n < 10_000; n++) delivered([messageOf(n)], `d${n % 100}`);
    await clock.pass(INTERVAL);
    expect((await heldBytes()) - before).toBeLessThan(15_000_000);
  });

  it('holds little memory between two writes, however large the delivered messages are', async () => {
    const before = await heldBytes();
    for (let n = 0; n < 2_000; n++) {
      const properties = { text: `${n}`.padEnd(20_000, 'x') };
      delivered([message(`m${n}`, [outcome()], { properties })], `d${n % 20}`);
    }
    expect((await heldBytes()) - before).toBeLessThan(10_000_000);
    await recorder.close();
    expect(store.idsOf('d0')).toHaveLength(100);
  });

  it.each([
    [
      'has an event with quotes',
      { event: 'A "quoted" \\ one' },
      { type: 'track', event: 'A "quoted" \\ one' },
    ],
    ['has an event without a name', { event: '' }, { type: 'track', event: '' }],
    [
      'is about nobody that is known',
      { userId: undefined, anonymousId: 'a1' },
      { type: 'track', event: 'Paid' },
    ],
    ['has an id with a line break', { userId: 'u\n1' }, { type: 'track', event: 'Paid' }],
    ['has no event', { type: 'identify', event: undefined }, { type: 'identify' }],
    ['was not made by this package', { type: 'other' }, {}],
    [
      'has an event with a very long name',
      { event: 'E'.repeat(1_000) },
      { type: 'track', event: 'E'.repeat(256) },
    ],
  ])('records what is known about a message that %s', async (_, fields, known) => {
    delivered([message('a', [outcome()], fields)]);
    await recorder.close();
    const [entry] = store.writes[0]?.[0]?.entries ?? [];
    expect(entry?.head).toEqual({ ...known, source: 'web', state: 'delivered' });
  });

  it('records each attempt once, although a message carries the outcomes of earlier attempts', async () => {
    const [first, second, other] = [
      outcome({ class: 'retry', status: 503 }),
      outcome({ attempt: 2 }),
      outcome({ url: 'other', class: 'permanent', status: 404 }),
    ];
    const fresh = message('a', []);
    recorder.record(batch([fresh]), [{ ...fresh, outcomes: [first, other] }], {
      state: 'retrying',
      error: undefined,
    });
    await eventually(() => store.writes.length > 0);
    const tried: QueuedBatch = { ...batch([]), messages: [{ ...fresh, outcomes: [first, other] }] };
    recorder.record(tried, [{ ...fresh, outcomes: [second, other] }], DELIVERED);
    await recorder.close();
    const attempts = store.writes.flat().flatMap(({ entries }) => entries.map((entry) => entry.attempts));
    expect(attempts).toEqual([[first, other], [second]]);
  });

  it('cuts long answers', async () => {
    delivered([message('a', [outcome({ excerpt: 'x'.repeat(1_000) })])]);
    await recorder.close();
    expect(store.writes[0]?.[0]?.entries[0]?.attempts[0]?.excerpt).toBe('x'.repeat(256));
  });

  it('merges what happens to a message between two writes', async () => {
    recorder.record(batch([message('a')]), [message('a')], { state: 'retrying', error: undefined });
    delivered([message('b')]);
    recorder.record(batch([message('a')]), [message('a')], DELIVERED);
    await recorder.close();
    const [history] = store.writes[0] ?? [];
    expect(history?.entries.map(({ messageId, attempts }) => [messageId, attempts.length])).toEqual([
      ['b', 1],
      ['a', 2],
    ]);
    const [[, counts] = []] = history?.hours ?? [];
    expect(counts).toMatchObject({ delivered: 2, retried: 1 });
  });

  it('keeps all attempts of many messages that are tried again before they are written', async () => {
    const batches = [0, 20, 40, 60, 80].map((first) => many(20, first).map(({ id }) => message(id, [])));
    const tried = (fresh: readonly BatchMessage[], attempts: number): BatchMessage[] =>
      fresh.map((one) => ({ ...one, outcomes: OUTCOMES.slice(0, attempts) }));
    for (const attempt of [1, 2, 3]) {
      for (const fresh of batches) {
        const known: QueuedBatch = { ...batch([]), messages: tried(fresh, attempt - 1) };
        recorder.record(known, tried(fresh, attempt), { state: 'retrying', error: undefined });
      }
    }
    await recorder.close();
    const [history] = store.writes[0] ?? [];
    expect(history?.entries).toHaveLength(100);
    expect(history?.entries.every(({ attempts }) => attempts.length === 3)).toBe(true);
  });

  it('has room for other messages, however often the same message is tried', async () => {
    for (let round = 0; round < 60; round++) {
      const { length } = store.writes;
      for (let attempt = 0; attempt < 99; attempt++) delivered([message('a')]);
      await eventually(() => store.writes.length > length);
    }
    const others = Array.from({ length: 60 }, (_, index) => `other ${index}`);
    for (const other of others) delivered(many(100), other);
    await recorder.close();
    expect(others.flatMap((other) => store.idsOf(other))).toHaveLength(6_000);
  });

  it('counts every message, and keeps entries of the last 100 messages of a destination', async () => {
    for (let first = 0; first < 1_000; first += 50) delivered(many(50, first));
    await recorder.close();
    expect(store.idsOf('crm')).toEqual(many(100, 900).map(({ id }) => id));
    const [[hour, counts] = []] = store.writes[0]?.[0]?.hours ?? [];
    expect(hour).toBe(490_000);
    expect(counts).toEqual({ delivered: 1_000, '14': 1_000 });
  });

  it('counts deliveries in the hour in which they happen', async () => {
    delivered([message('a')]);
    await clock.pass(500);
    await clock.pass(3_600_000);
    delivered([message('b')]);
    delivered([message('c')]);
    await recorder.close();
    const countsOf = (id: string): unknown[] =>
      store.writes
        .flat()
        .filter(({ destination }) => destination === id)
        .flatMap(({ hours }) => hours.map(([hour, { delivered: count }]) => [hour, count]));
    expect(countsOf('crm')).toEqual([
      [490_000, 1],
      [490_001, 2],
    ]);
    expect(countsOf(ALL_DESTINATIONS)).toEqual(countsOf('crm'));
  });

  it('adds up the deliveries to all destinations', async () => {
    delivered([message('a'), message('b')]);
    delivered([message('c')], 'other');
    await recorder.close();
    const totals = store.writes.flat().filter(({ destination }) => destination === ALL_DESTINATIONS);
    expect(totals).toMatchObject([{ entries: [], hours: [[490_000, { delivered: 3 }]] }]);
  });

  it('counts the deliveries to all destinations once, in the minute in which they happen', async () => {
    const minute = NOW / 60_000;
    recorder.record(batch([message('a')]), [message('a')], { state: 'retrying', error: undefined });
    for (let n = 0; n < 300; n++) delivered(many(3), `d${n}`);
    await eventually(() => store.writes.length > 2);
    await clock.pass(60_000);
    delivered([message('b')]);
    recorder.record(batch([message('c')]), [message('c')], { state: 'failed', error: undefined });
    await recorder.close();
    expect(store.minutes.flat()).toEqual([
      [minute, { retried: 1, delivered: 900 }],
      [minute + 1, { delivered: 1, failed: 1 }],
    ]);
  });

  it('holds the minute counts of two hours while the store takes nothing', async () => {
    store.failure = new Error('away');
    for (let n = 0; n < 180; n++) {
      delivered([message('a')]);
      await clock.pass(60_000);
    }
    store.failure = undefined;
    await recorder.close();
    const [minutes = []] = store.minutes;
    expect(minutes.length).toBeGreaterThan(110);
    expect(minutes.length).toBeLessThanOrEqual(120);
    expect(minutes.every(([, { delivered: count }]) => count === 1)).toBe(true);
    expect(minutes.at(-1)?.[0]).toBe(NOW / 60_000 + 179);
  });

  it('divides many entries into several writes, and loses none of them', async () => {
    for (let n = 0; n < 500; n++) delivered(many(3, 3 * n), `d${n}`);
    await recorder.close();
    const sizes = store.writes.map((histories) => histories.flatMap(({ entries }) => entries).length);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(200);
    expect(sizes.reduce((sum, size) => sum + size)).toBe(1_500);
  });

  it('writes refused entries again, together with later entries, and logs nothing', async () => {
    store.failure = new Error('away');
    delivered([message('a')]);
    await clock.pass(5 * INTERVAL);
    delivered([message('b')]);
    await clock.pass(5 * INTERVAL);
    expect(store.writes).toEqual([]);
    store.failure = undefined;
    await eventually(() => store.writes.length > 0);
    expect(store.idsOf('crm')).toEqual(['a', 'b']);
    expect(store.writes[0]?.[0]?.hours[0]?.[1]).toMatchObject({ delivered: 2 });
    expect(lines.all).toEqual([]);
  });

  it('keeps entries that are recorded during a failing write, after the entries of that write', async () => {
    let fail: (error: Error) => void = () => undefined;
    store.silence = new Promise((_, reject) => {
      fail = reject;
    });
    delivered([message('a'), message('b')]);
    await clock.pass(INTERVAL);
    delivered([message('a'), message('c')]);
    delivered([message('d')], 'other');
    store.silence = undefined;
    fail(new Error('away'));
    await eventually(() => store.writes.length > 0);
    expect(store.idsOf('crm')).toEqual(['b', 'a', 'c']);
    expect(store.idsOf('other')).toEqual(['d']);
    expect(store.writes[0]?.[0]?.hours[0]?.[1]).toMatchObject({ delivered: 4 });
  });

  it.each([
    ['refuses them', { failure: new RangeError('secret') }],
    ['does not answer', { silence: new Promise<void>(() => undefined) }],
  ])('holds a bounded number of entries while the store %s, and warns once', async (_, away) => {
    Object.assign(store, away);
    delivered([message('a')]);
    await clock.pass(INTERVAL);
    for (let n = 0; n < 300; n++) {
      tenants.set(`d${n}`, 'acme');
      delivered(many(100), `d${n}`);
      if (n % 50 === 0) await clock.pass(INTERVAL);
    }
    await clock.pass(30 * INTERVAL);
    expect(lines.analytics).toEqual([
      expect.stringMatching(/^warn: The history of deliveries cannot be written/),
    ]);
    expect(lines.analytics[0]).not.toContain('secret');
    await clock.pass(100 * INTERVAL);
    expect(lines.analytics).toHaveLength(1);
    if (store.failure === undefined) return;
    store.failure = undefined;
    await eventually(() => lines.analytics.length > 1);
    const written = store.writes.flat().flatMap(({ entries }) => entries).length;
    expect(written).toBeLessThanOrEqual(10_000);
    expect(lines.analytics[1]).toBe(
      `log: The history of deliveries is written again; ${30_001 - written} deliveries are missing from it.`,
    );
    // There is room again.
    delivered([message('z')], 'new');
    await eventually(() => store.idsOf('new').length > 0);
  });

  describe('while deliveries come faster than the store takes them', () => {
    let answer: () => void;

    beforeEach(async () => {
      store.silence = new Promise((resolve) => {
        answer = resolve;
      });
      delivered([message('first')]);
      await clock.pass(INTERVAL);
    });

    function deliveredToManyOf(tenant: string): void {
      for (let n = 0; n < 300; n++) {
        tenants.set(`${tenant} ${n}`, tenant);
        delivered(many(100), `${tenant} ${n}`);
      }
    }

    function deliveredToManyTenants(): void {
      for (let n = 0; n < 150; n++) {
        tenants.set(`small ${n}`, `tenant ${n}`);
        delivered([message('own')], `small ${n}`);
      }
    }

    const countOf = (destination: string): number =>
      store.writes
        .flat()
        .filter((history) => history.destination === destination)
        .flatMap(({ hours }) => hours.map(([, { delivered: count = 0 }]) => count))
        .reduce((sum, count) => sum + count, 0);

    it('keeps room for every tenant, however many destinations another tenant has', async () => {
      deliveredToManyOf('large');
      deliveredToManyTenants();
      answer();
      await recorder.close();
      const ids = Array.from({ length: 150 }, (_, n) => store.idsOf(`small ${n}`));
      expect(ids).toEqual(ids.map(() => ['own']));
      const written = store.writes.flat().flatMap(({ entries }) => entries).length;
      expect(written).toBeLessThanOrEqual(10_000 + 150);
    });

    it('shares the remaining room among all destinations that need it', async () => {
      for (let n = 0; n < 300; n++) delivered(many(100), `shared ${n}`);
      answer();
      await recorder.close();
      const written = store.writes.flat().flatMap(({ entries }) => entries).length;
      expect(written).toBeGreaterThan(19_900);
      expect(written).toBeLessThanOrEqual(20_000);
    });

    it('counts at each destination the deliveries that it has no room for', async () => {
      deliveredToManyOf('large');
      answer();
      await recorder.close();
      expect(store.idsOf('large 299')).toEqual([]);
      expect(countOf('large 299')).toBe(100);
      expect(countOf(ALL_DESTINATIONS)).toBe(30_001);
    });

    it('goes on with the latest messages of a destination whose entries are full', async () => {
      tenants.set('busy', 'large');
      delivered(many(100), 'busy');
      deliveredToManyOf('large');
      deliveredToManyTenants();
      delivered(many(100, 100), 'busy');
      answer();
      await recorder.close();
      expect(store.idsOf('busy')).toEqual(many(100, 100).map(({ id }) => id));
    });

    it('counts only in the totals if there are too many destinations, in writes of bounded size', async () => {
      for (let n = 0; n < 25_000; n++) {
        tenants.set(`d${n}`, 'large');
        delivered([message('a')], `d${n}`);
      }
      for (let n = 25_000; n < 100_000; n++) tenants.set(`d${n}`, 'large');
      const before = await heldBytes();
      for (let n = 25_000; n < 100_000; n++) delivered([message('a')], `d${n}`);
      expect((await heldBytes()) - before).toBeLessThan(2_000_000);
      delivered([message('own')], 'small');
      answer();
      await recorder.close();
      expect(countOf('d19000')).toBe(1);
      expect(countOf('d90000')).toBe(0);
      expect(countOf('small')).toBe(1);
      expect(store.idsOf('small')).toEqual(['own']);
      expect(countOf(ALL_DESTINATIONS)).toBe(100_002);
      expect(Math.max(...store.writes.map(({ length }) => length))).toBeLessThanOrEqual(201);
    });

    it('warns once, and logs once how many deliveries are missing when it keeps up again', async () => {
      deliveredToManyOf('large');
      // Whether the store takes anything is not known yet.
      expect(lines.analytics).toEqual([]);
      answer();
      await eventually(() => lines.analytics.length > 1);
      const written = store.writes.flat().flatMap(({ entries }) => entries).length;
      expect(lines.analytics).toEqual([
        'warn: The history of deliveries cannot keep up with deliveries, so some deliveries will be missing from it. ' +
          'Delivery itself goes on.',
        `log: The history of deliveries keeps up again; ${30_001 - written} deliveries are missing from it.`,
      ]);
    });

    it('logs how many deliveries are missing if there was no room during a write that failed', async () => {
      deliveredToManyOf('large');
      store.failure = new Error('a lock was not given');
      answer();
      await clock.pass(0);
      store.failure = undefined;
      await eventually(() => lines.analytics.length > 1);
      const written = store.writes.flat().flatMap(({ entries }) => entries).length;
      expect(lines.analytics).toEqual([
        expect.stringContaining('cannot be written'),
        `log: The history of deliveries is written again; ${30_001 - written} deliveries are missing from it.`,
      ]);
    });

    it('does not log that it keeps up while there is still no room', async () => {
      deliveredToManyOf('large');
      const write = store.write.bind(store);
      let hasComeToLater = false;
      store.write = (...args) => {
        hasComeToLater = args[0].some(({ destination }) => destination.startsWith('later'));
        if (hasComeToLater) return new Promise(() => undefined);
        // All earlier entries have been taken out to be written.
        if (store.writes.length === 1) deliveredToManyOf('later');
        return write(...args);
      };
      answer();
      await eventually(() => hasComeToLater);
      expect(lines.analytics).toEqual([expect.stringContaining('cannot keep up with deliveries')]);
    });
  });

  it('holds the bodies of only a few messages while the store refuses all writes', async () => {
    store.failure = new Error('no table');
    const before = await heldBytes();
    for (let n = 0; n < 10; n++) {
      for (let m = 0; m < 100; m++) {
        const properties = { text: `${n} ${m}`.padEnd(20_000, 'x') };
        delivered([message(`m${m}`, [outcome()], { properties })], `d${n} ${m}`);
      }
      const { refusals } = store;
      await eventually(() => store.refusals > refusals);
    }
    expect((await heldBytes()) - before).toBeLessThan(10_000_000);
  });

  it('drops entries from memory that the store would no longer keep', async () => {
    store.failure = new Error('no table');
    delivered([message('old')]);
    await clock.pass(6 * 24 * 3_600_000);
    delivered([message('young')]);
    await clock.pass(2 * 24 * 3_600_000);
    const { refusals } = store;
    await eventually(() => store.refusals > refusals + 1);
    store.failure = undefined;
    await recorder.close();
    expect(store.idsOf('crm')).toEqual(['young']);
    expect(store.writes[0]?.[0]?.hours).toEqual([
      [NOW / 3_600_000 + 6 * 24, expect.objectContaining({ delivered: 1 })],
    ]);
  });

  it('records nothing for an id that no destination can have, but counts it in the totals', async () => {
    delivered([message('a')], ALL_DESTINATIONS);
    delivered([message('b')], 'a\0b');
    delivered([message('c')]);
    await recorder.close();
    expect(store.writes).toEqual([
      [
        expect.objectContaining({ destination: 'crm' }),
        {
          destination: ALL_DESTINATIONS,
          entries: [],
          hours: [[NOW / 3_600_000, expect.objectContaining({ delivered: 3 })]],
        },
      ],
    ]);
  });

  it('writes to one node of a cluster while another node refuses writes, and warns after a minute', async () => {
    const write = store.write.bind(store);
    Object.assign(store, {
      groupOf: (destination: string) => Number(destination === 'refused'),
      write: (...args: Parameters<typeof write>) => {
        const isRefused = args[0].some(({ destination }) => destination === 'refused');
        return isRefused && isAway ? Promise.reject(new Error('full')) : write(...args);
      },
    });
    let isAway = true;
    for (let second = 0; second < 70; second += 2) {
      delivered([message(`r${second}`)], 'refused');
      delivered([message(`t${second}`)], 'taken');
      await clock.pass(INTERVAL);
    }
    expect(store.idsOf('taken').length).toBeGreaterThan(20);
    expect(lines.analytics).toEqual([
      expect.stringMatching(/^warn: The history of deliveries cannot be written/),
    ]);
    isAway = false;
    await recorder.close();
    expect(store.idsOf('refused')).toHaveLength(35);
    expect(store.minutes.flat().reduce((sum, [, { delivered: count = 0 }]) => sum + count, 0)).toBe(70);
  });

  it('has room for a tenant with one destination although a larger tenant fills it during a write', async () => {
    let answer: () => void = () => undefined;
    store.silence = new Promise((resolve) => {
      answer = resolve;
    });
    tenants.set('own', 'small');
    delivered(many(100), 'own');
    await clock.pass(INTERVAL);
    for (let n = 0; n < 100; n++) {
      tenants.set(`large ${n}`, 'large');
      delivered(many(100), `large ${n}`);
    }
    delivered(many(50, 100), 'own');
    answer();
    await recorder.close();
    expect(store.idsOf('own')).toEqual(many(150).map(({ id }) => id));
  });

  it('writes to the other nodes of a cluster while one node does not answer', async () => {
    const write = store.write.bind(store);
    Object.assign(store, {
      groupOf: (destination: string) => Number(destination !== 'silent'),
      write: (...args: Parameters<typeof write>) =>
        args[0].some(({ destination }) => destination === 'silent')
          ? new Promise(() => undefined)
          : write(...args),
    });
    delivered([message('s')], 'silent');
    delivered([message('t')], 'taken');
    await eventually(() => store.writes.length > 0);
    expect(store.idsOf('taken')).toEqual(['t']);
  });

  it('does not warn about a store that is busy with one write after the other for more than a minute', async () => {
    for (let n = 0; n < 300; n++) delivered(many(20), `d${n}`);
    const write = store.write.bind(store);
    store.write = async (...args) => {
      await new Promise<void>((resolve) => {
        clock.after(4_000, resolve);
      });
      await write(...args);
    };
    while (store.writes.length < 25) await clock.pass(INTERVAL / 4);
    expect(lines.all).toEqual([]);
  });

  it('warns after a minute that the store fails, unless the whole queue is known to be away', async () => {
    store.failure = new Error('no table');
    isQueueUp = false;
    delivered([message('a')]);
    await clock.pass(60 * INTERVAL);
    expect(lines.all).toEqual([]);
    isQueueUp = true;
    await clock.pass(60 * INTERVAL);
    expect(lines.analytics).toEqual([
      expect.stringMatching(/^warn: The history of deliveries cannot be written/),
    ]);
  });

  it('forgets the unwritten entries of a destination that was deleted', async () => {
    delivered([message('a')]);
    delivered([message('b')], 'other');
    recorder.discard('crm');
    await recorder.close();
    expect(store.writes.flat().map(({ destination }) => destination)).toEqual(['other', ALL_DESTINATIONS]);
    expect(store.idsOf('other')).toEqual(['b']);
  });

  it('adds the deliveries of a forgotten destination to the totals, also after the store was away', async () => {
    store.failure = new Error('away');
    delivered([message('a')]);
    await eventually(() => store.refusals > 0);
    delivered([message('b')]);
    recorder.discard('crm');
    delivered([message('late')]);
    store.failure = undefined;
    await recorder.close();
    expect(store.idsOf('crm')).toEqual([]);
    expect(store.writes[0]?.at(-1)).toMatchObject({
      destination: ALL_DESTINATIONS,
      hours: [[NOW / 3_600_000, { delivered: 3 }]],
    });
  });

  it('writes nothing for a deleted destination, but counts its messages in the totals', async () => {
    delivered([message('a')]);
    delivered([message('b')], 'other');
    deleted.add('crm');
    await recorder.close();
    expect(store.writes.flat().map(({ destination }) => destination)).toEqual(['other', ALL_DESTINATIONS]);
    expect(store.writes[0]?.at(-1)?.hours).toEqual([
      [NOW / 3_600_000, expect.objectContaining({ delivered: 2 })],
    ]);
  });

  it('writes nothing for a destination that is deleted while the store refuses writes', async () => {
    store.failure = new Error('no table');
    delivered([message('a')]);
    await eventually(() => store.refusals > 0);
    deleted.add('crm');
    store.failure = undefined;
    await eventually(() => store.writes.length > 0);
    expect(store.idsOf('crm')).toEqual([]);
  });

  it('writes its entries if the look-up of deleted destinations fails', async () => {
    lookUpFailure = new Error('the store is away');
    delivered([message('a')]);
    await recorder.close();
    expect(store.idsOf('crm')).toEqual(['a']);
  });

  it('writes its entries while the look-up of deleted destinations does not answer', async () => {
    let answer: () => void = () => undefined;
    lookUpSilence = new Promise((resolve) => {
      answer = resolve;
    });
    delivered([message('a')]);
    await clock.pass(2 * INTERVAL);
    expect(store.idsOf('crm')).toEqual(['a']);
    // The recorder does not wait for the look-up again.
    delivered([message('b')]);
    await clock.pass(INTERVAL);
    expect(store.idsOf('crm')).toEqual(['a', 'b']);
    deleted.add('crm');
    answer();
    await clock.pass(0);
    delivered([message('c')]);
    await recorder.close();
    expect(store.idsOf('crm')).toEqual(['a', 'b']);
  });

  describe('while one node of a cluster does not answer', () => {
    let answer: () => void;

    const isOfSilent = (destination: string): boolean => destination.startsWith('silent');

    beforeEach(() => {
      store.groupOf = (destination) => Number(isOfSilent(destination));
      const silence = new Promise<void>((resolve) => {
        answer = resolve;
      });
      store.silenceOf = ([first]) =>
        first !== undefined && isOfSilent(first.destination) ? silence : undefined;
    });

    const minuteCount = (): number =>
      store.minutes.flat().reduce((sum, [, { delivered: count = 0 }]) => sum + count, 0);

    it('writes to the other nodes every two seconds, and to the silent node when it answers', async () => {
      for (let round = 0; round < 10; round++) {
        delivered([message(`s${round}`)], 'silent');
        delivered([message(`t${round}`)], 'taken');
        await clock.pass(INTERVAL);
        expect(store.idsOf('taken').at(-1)).toBe(`t${round}`);
      }
      expect(store.idsOf('silent')).toEqual([]);
      expect(lines.analytics).toEqual([]);
      answer();
      await recorder.close();
      expect(store.idsOf('silent')).toEqual(Array.from({ length: 10 }, (_, round) => `s${round}`));
      expect(minuteCount()).toBe(20);
    });

    it('writes the minute counts to the other nodes', async () => {
      delivered([message('s')], 'silent');
      await clock.pass(INTERVAL);
      for (let round = 0; round < 10; round++) {
        delivered([message(`s${round}`)], 'silent');
        delivered([message(`t${round}`)], 'taken');
        await clock.pass(INTERVAL);
      }
      expect(minuteCount()).toBe(20);
    });

    it('writes no minute counts to a node that refused the last write while another node takes them', async () => {
      delivered([message('s0')], 'silent');
      let refuse: (error: Error) => void = () => undefined;
      const refusal = new Promise<void>((_, reject) => {
        refuse = reject;
      });
      const { silenceOf } = store;
      store.silenceOf = (histories) => (silenceOf(histories) === undefined ? undefined : refusal);
      await clock.pass(INTERVAL);
      refuse(new Error('Command timed out'));
      await clock.pass(0);
      store.silenceOf = silenceOf;
      delivered([message('t')], 'taken');
      await clock.pass(INTERVAL);
      expect(store.idsOf('taken')).toEqual(['t']);
      expect(minuteCount()).toBe(2);
    });

    describe('and has refused the last write', () => {
      let answerOthers: () => void;

      beforeEach(async () => {
        const others = new Promise<void>((resolve) => {
          answerOthers = resolve;
        });
        let refuse: (error: Error) => void = () => undefined;
        const refusal = new Promise<void>((_, reject) => {
          refuse = reject;
        });
        const { silenceOf } = store;
        store.silenceOf = (histories) => (silenceOf(histories) === undefined ? others : refusal);
        delivered([message('s')], 'silent');
        delivered([message('t')], 'taken');
        await clock.pass(INTERVAL);
        refuse(new Error('Command timed out'));
        await clock.pass(0);
        store.silenceOf = (histories) => silenceOf(histories) ?? others;
        await clock.pass(INTERVAL);
      });

      it('writes no minute counts to it while a write to another node is under way', async () => {
        answerOthers();
        delivered([message('u')], 'taken');
        await eventually(() => store.idsOf('taken').length > 1);
        expect(minuteCount()).toBe(3);
      });

      it('leaves no minute counts behind when all entries are written and the recorder is closed', async () => {
        answerOthers();
        answer();
        await clock.pass(INTERVAL);
        expect(store.idsOf('silent')).toEqual(['s']);
        await recorder.close();
        expect(minuteCount()).toBe(2);
      });
    });

    it('writes the remaining entries of the other nodes when it is closed', async () => {
      delivered([message('s')], 'silent');
      delivered([message('t')], 'taken');
      await clock.pass(INTERVAL);
      delivered([message('u')], 'taken');
      const closed = recorder.close();
      await clock.pass(0);
      expect(store.idsOf('taken')).toEqual(['t', 'u']);
      answer();
      await closed;
      expect(store.idsOf('silent')).toEqual(['s']);
    });

    it('holds no message bodies for the silent node', async () => {
      delivered([message('first')], 'silent');
      await clock.pass(INTERVAL);
      const before = await heldBytes();
      for (let n = 0; n < 1_000; n++) {
        const properties = { text: `${n}`.padEnd(20_000, 'x') };
        delivered([message(`m${n}`, [outcome()], { properties })], `silent ${n % 20}`);
        delivered([message(`t${n}`)], 'taken');
        if (n % 50 === 0) await clock.pass(INTERVAL);
      }
      await clock.pass(INTERVAL);
      // The bodies of the last messages alone have 3.2 million characters.
      expect((await heldBytes()) - before).toBeLessThan(2_500_000);
    });

    it('keeps room for entries of the other nodes, however many wait for the silent node', async () => {
      delivered([message('first')], 'silent');
      delivered([message('first')], 'taken');
      await eventually(() => store.writes.length > 0);
      await clock.pass(INTERVAL);
      for (let n = 0; n < 300; n++) delivered(many(100), `silent ${n}`);
      const taken = Array.from({ length: 50 }, (_, n) => `taken ${n}`);
      for (const destination of taken) {
        tenants.set(destination, 'acme');
        delivered(many(100), destination);
      }
      const written = (): number => taken.flatMap((destination) => store.idsOf(destination)).length;
      for (let n = 0; n < 20 && written() < 5_000; n++) await clock.pass(INTERVAL);
      expect(written()).toBe(5_000);
    });

    it('keeps room for entries of the silent node, however many wait for the other nodes', async () => {
      delivered([message('first')], 'silent');
      delivered([message('first')], 'taken');
      await eventually(() => store.writes.length > 0);
      await clock.pass(INTERVAL);
      for (let n = 0; n < 40; n++) delivered(many(100), `taken ${n}`);
      const waiting = ['silent 1', 'silent 2'];
      for (const destination of waiting) {
        tenants.set(destination, 'acme');
        delivered(many(100), destination);
      }
      answer();
      await recorder.close();
      expect(waiting.flatMap((destination) => store.idsOf(destination))).toHaveLength(200);
    });

    it('writes many entries to the other nodes without waiting two seconds between writes', async () => {
      delivered([message('first')], 'silent');
      await clock.pass(INTERVAL);
      const taken = Array.from({ length: 50 }, (_, n) => `taken ${n}`);
      for (const destination of taken) delivered(many(100), destination);
      const written = (): number => taken.flatMap((destination) => store.idsOf(destination)).length;
      for (let n = 0; n < 1_000 && written() < 5_000; n++) await clock.pass(0);
      expect(written()).toBe(5_000);
    });

    it('leaves all room to the silent node once no other node answers either', async () => {
      delivered([message('first')], 'taken');
      await eventually(() => store.writes.length > 0);
      store.silence = new Promise((resolve) => {
        answer = resolve;
      });
      store.silenceOf = () => undefined;
      delivered([message('first')], 'silent');
      await clock.pass(2 * INTERVAL);
      const later = Array.from({ length: 90 }, (_, n) => `silent ${n}`);
      for (const destination of later) {
        tenants.set(destination, 'acme');
        delivered(many(100), destination);
      }
      answer();
      await recorder.close();
      expect(later.flatMap((destination) => store.idsOf(destination))).toHaveLength(9_000);
    });

    it('warns once that the node does not answer, and not that too much is delivered', async () => {
      delivered([message('first')], 'silent');
      await clock.pass(INTERVAL);
      for (let second = 0; second < 70; second += 2) {
        for (let n = 0; n < 300; n++) {
          tenants.set(`silent ${n}`, 'acme');
          delivered(many(100), `silent ${n}`);
        }
        delivered([message(`t${second}`)], 'taken');
        await clock.pass(INTERVAL);
      }
      expect(lines.analytics).toEqual([
        expect.stringMatching(/^warn: The history of deliveries cannot be written \(no answer\)/),
      ]);
      answer();
      await eventually(() => lines.analytics.length > 1);
      expect(lines.analytics.slice(1)).toEqual([
        expect.stringMatching(/^log: The history of deliveries is written again; \d+ deliveries are missing/),
      ]);
    });

    it('warns once that the node refuses writes, and not that too much is delivered', async () => {
      const refusal = Promise.reject(new Error('full'));
      refusal.catch(() => undefined);
      const { silenceOf } = store;
      store.silenceOf = (histories) => (silenceOf(histories) === undefined ? undefined : refusal);
      for (let round = 0; round < 5; round++) {
        for (let n = 0; n < 300; n++) {
          tenants.set(`silent ${n}`, 'acme');
          delivered(many(100), `silent ${n}`);
        }
        delivered([message(`t${round}`)], 'taken');
        await clock.pass(INTERVAL);
      }
      expect(lines.analytics).toEqual([
        expect.stringMatching(/^warn: The history of deliveries cannot be written \(/),
      ]);
    });

    it('warns that too much is delivered if all nodes answer, however slowly', async () => {
      store.silenceOf = () =>
        new Promise((resolve) => {
          clock.after(2 * INTERVAL, resolve);
        });
      for (let round = 0; round < 6; round++) {
        for (let n = 0; n < 300; n++) {
          const destination = `${n % 2 === 0 ? 'silent' : 'other'} ${n}`;
          tenants.set(destination, 'acme');
          delivered(many(100), destination);
        }
        await clock.pass(INTERVAL);
      }
      expect(lines.analytics).toEqual([
        expect.stringMatching(/^warn: The history of deliveries cannot keep up with deliveries/),
      ]);
    });
  });
});

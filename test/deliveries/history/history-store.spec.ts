import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  ALL_DESTINATIONS,
  type EntryHead,
  type HistoryStore,
  ordinalOf,
  type StoredHistory,
  type WrittenEntry,
} from '../../../src/deliveries/history/history-store.js';
import type { StoredCounts } from '../../../src/deliveries/history/hour-counts.js';
import { createHistoryStore } from '../../../src/deliveries/history/stores/create-history-store.js';
import type { UrlOutcome } from '../../../src/queue/batch-job.js';
import type { QueueBackend } from '../../../src/queue/queue-backend.js';
import { describeBackend } from '../../support/describe-backend.js';
import { emptyBackends } from '../../support/empty-backends.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const MINUTE = 60_000;
const THIS_HOUR = 490_000;
const EVER = 1e12;
const THIS_MINUTE = THIS_HOUR * 60 + 1;
const NOW = THIS_MINUTE * MINUTE;

/** Attempts that differ only in their number. */
function attempts(...numbers: number[]): UrlOutcome[] {
  return numbers.map((attempt) => ({
    url: 'hash',
    class: 'delivered',
    status: 200,
    attempt,
    at: NOW,
    duration: 5,
  }));
}

function entry(messageId: string, given: Partial<WrittenEntry> = {}): WrittenEntry {
  return {
    messageId,
    ordinal: ordinalOf(NOW),
    head: { type: 'track', event: `Event of ${messageId}`, source: 'web', state: 'delivered' },
    attempts: attempts(1),
    ...given,
  };
}

function named(event: string): EntryHead {
  return { type: 'track', event, source: 'web', state: 'retrying' };
}

function history(given: Partial<StoredHistory>): StoredHistory {
  return { destination: 'crm', entries: [], hours: [[THIS_HOUR, { delivered: 1 }]], ...given };
}

describeBackend('the history store', (backend) => {
  const openEmpty = emptyBackends(backend);
  let opened: QueueBackend;
  let store: HistoryStore;

  beforeEach(async () => {
    opened = await openEmpty();
    store = await createHistoryStore(opened.storage);
  });
  afterEach(() => opened.close());

  const idsOf = async (destination: string, limit = 100, now = NOW): Promise<string[]> =>
    (await store.recent(destination, limit, now)).map(({ messageId }) => messageId);

  /** Returns how many entries are stored, whether or not `recent` returns them. */
  async function storedEntries(): Promise<number> {
    const { storage } = opened;
    if (storage.kind === 'redis') {
      const keys = ['entries', 'whole'].map((name) => `{nestjs-analytics:history}:${name}:crm`);
      const script = "return {redis.call('HLEN', KEYS[1]), redis.call('HKEYS', KEYS[2])}";
      const [others, names] = (await storage.client.eval(script, 2, ...keys)) as [number, string[]];
      // Each field name other than `count` contains its number of entries.
      const numbers = names.filter((name) => name !== 'count').map((name) => Number(name.split(' ')[1]));
      return numbers.reduce((sum, number) => sum + number, others);
    }
    const text = 'SELECT count(*)::integer AS count FROM nestjs_analytics.delivery_entry';
    return (await storage.pool.query<{ count: number }>(text)).rows[0]?.count ?? NaN;
  }

  /** Writes as a process that has written nothing before. */
  const writeAsAnother: HistoryStore['write'] = async (...args) => {
    const another = await createHistoryStore(opened.storage);
    await another.write(...args);
  };

  it('is empty for a destination that nobody has delivered to', async () => {
    expect(await store.recent('crm', 100, NOW)).toEqual([]);
    expect(await store.hours('crm', 0, THIS_HOUR)).toEqual([]);
    await store.forget('crm');
  });

  it('returns entries as they were written, the latest first, and only those of the destination', async () => {
    const first = entry('a', { ordinal: ordinalOf(NOW) + 1, attempts: attempts(1, 2) });
    const second = entry('b', { ordinal: ordinalOf(NOW) + 2, attempts: [], head: named('Ü\n\u0000') });
    const other = history({ destination: 'other', entries: [entry('c')] });
    await store.write([history({ entries: [first, second] }), other], NOW);
    expect(await store.recent('crm', 100, NOW)).toEqual([second, first]);
    expect(await idsOf('crm', 1)).toEqual(['b']);
    expect(await idsOf('other')).toEqual(['c']);
  });

  it('adds attempts to the entry of their message, which comes first again', async () => {
    const before = entry('a', { head: named('earlier') });
    await store.write([history({ entries: [before, entry('b', { ordinal: ordinalOf(NOW) + 1 })] })], NOW);
    const later = entry('a', { ordinal: ordinalOf(NOW) + 2, head: named('later'), attempts: attempts(2) });
    await store.write([history({ entries: [later] })], NOW);
    expect(await idsOf('crm')).toEqual(['a', 'b']);
    expect((await store.recent('crm', 1, NOW))[0]).toEqual({ ...later, attempts: attempts(1, 2) });
  });

  it('keeps the latest state of a message, even if an earlier state is written after it', async () => {
    const later = entry('a', {
      ordinal: ordinalOf(NOW) + 5,
      head: named('later'),
      attempts: attempts(2),
    });
    await store.write([history({ entries: [later] })], NOW);
    await store.write([history({ entries: [entry('a', { head: named('earlier') })] })], NOW);
    const [found] = await store.recent('crm', 100, NOW);
    expect(found).toMatchObject({ ordinal: later.ordinal, head: later.head });
    expect(new Set(found?.attempts)).toEqual(new Set(attempts(1, 2)));
  });

  it.each([
    ['before', 'by several attempts', false],
    ['before', 'by its first attempt', true],
    ['after', 'by several attempts', false],
    ['after', 'by its first attempt', true],
  ])(
    'keeps a message delivered if a clock that is ahead says %s that it is retried: %s',
    async (order, _, isWhole) => {
      const tried = entry('a', { ordinal: ordinalOf(NOW + 8_000), head: named('tried') });
      const delivered = entry('a', { ordinal: ordinalOf(NOW + 5_000), attempts: attempts(2), isWhole });
      for (const one of order === 'before' ? [tried, delivered] : [delivered, tried]) {
        await store.write([history({ entries: [one] })], NOW);
      }
      const [found, ...others] = await store.recent('crm', 100, NOW);
      expect(others).toEqual([]);
      expect(found?.head).toEqual(delivered.head);
      expect(new Set(found?.attempts)).toEqual(new Set(attempts(1, 2)));
    },
  );

  it.each(['before', 'after'])(
    'keeps a message failed if a clock that is ahead says %s that it is retried',
    async (order) => {
      const tried = entry('a', { ordinal: ordinalOf(NOW + 8_000), head: named('tried') });
      const head: EntryHead = { ...named('failed'), state: 'failed' };
      const failed = entry('a', { ordinal: ordinalOf(NOW + 5_000), head, attempts: attempts(2) });
      for (const one of order === 'before' ? [tried, failed] : [failed, tried]) {
        await store.write([history({ entries: [one] })], NOW);
      }
      const [found] = await store.recent('crm', 100, NOW);
      expect(found?.head).toEqual(head);
      expect(new Set(found?.attempts)).toEqual(new Set(attempts(1, 2)));
    },
  );

  it('shows a failed message as retried soon after a replay', async () => {
    const failed: EntryHead = { ...named('failed'), state: 'failed' };
    await store.write([history({ entries: [entry('a', { head: failed })] })], NOW);
    const heads: (EntryHead | undefined)[] = [];
    for (const [n, later] of [40_000, 80_000].entries()) {
      const ordinal = ordinalOf(NOW + later);
      const tried = entry('a', { ordinal, head: named('tried'), attempts: attempts(n + 2) });
      await store.write([history({ entries: [tried] })], NOW);
      heads.push((await store.recent('crm', 100, NOW))[0]?.head);
    }
    expect(heads).toEqual([failed, named('tried')]);
  });

  it('shows a failed message as retried after a replay', async () => {
    const failed: EntryHead = { ...named('failed'), state: 'failed' };
    await store.write([history({ entries: [entry('a', { head: failed })] })], NOW);
    const replayed = entry('a', {
      ordinal: ordinalOf(NOW + MINUTE) + 1,
      head: named('replayed'),
      attempts: attempts(2),
    });
    await store.write([history({ entries: [replayed] })], NOW);
    expect((await store.recent('crm', 100, NOW))[0]?.head).toEqual(replayed.head);
  });

  it('keeps the latest 20 attempts of a message', async () => {
    for (let n = 0; n < 5; n++) {
      const nine = attempts(...Array.from({ length: 9 }, (_, index) => n * 9 + index));
      const entries = [entry('a', { ordinal: ordinalOf(NOW) + n, attempts: nine })];
      await store.write([history({ entries })], NOW);
    }
    const [found] = await store.recent('crm', 100, NOW);
    expect(found?.attempts).toEqual(attempts(...Array.from({ length: 20 }, (_, index) => 25 + index)));
  });

  it('keeps the latest 100 entries of a destination, and stores no more than these', async () => {
    for (let n = 0; n < 5; n++) {
      const entries = Array.from({ length: 50 }, (_, index) => {
        const number = n * 50 + index;
        return entry(`m${number}`, { ordinal: ordinalOf(NOW) + number });
      });
      await store.write([history({ entries })], NOW);
    }
    expect(await idsOf('crm', 1_000)).toEqual(Array.from({ length: 100 }, (_, index) => `m${249 - index}`));
    expect(await storedEntries()).toBe(100);
  });

  it.each([
    ['one at a time', 1],
    ['fifty', 50],
    ['a hundred', 100],
  ])(
    'keeps the latest 100 of messages that were delivered by their first attempt, written %s',
    async (_, atOnce) => {
      for (let first = 0; first < 300; first += atOnce) {
        const entries = Array.from({ length: atOnce }, (_, index) => {
          const number = first + index;
          return entry(`m${number}`, { ordinal: ordinalOf(NOW) + number, isWhole: true });
        });
        await store.write([history({ entries })], NOW);
        expect(await storedEntries()).toBeLessThan(200);
      }
      expect(await idsOf('crm', 100)).toEqual(Array.from({ length: 100 }, (_, index) => `m${299 - index}`));
    },
  );

  it('keeps the latest entries, even if a process writes older ones after them', async () => {
    const from = (first: number): WrittenEntry[] =>
      Array.from({ length: 100 }, (_, index) => {
        const number = first + index;
        return entry(`m${number}`, { ordinal: ordinalOf(NOW) + number, isWhole: true });
      });
    await store.write([history({ entries: from(100) })], NOW);
    const late = await createHistoryStore(opened.storage);
    await late.write([history({ entries: from(0) })], NOW);
    expect((await idsOf('crm')).at(0)).toBe('m199');
    expect((await idsOf('crm')).at(-1)).toBe('m100');
  });

  it.each([
    ['messages that took several attempts', false],
    ['messages that were delivered by the first', true],
  ])('keeps what other workers wrote if the clock of a worker is days ahead: %s', async (_, isWhole) => {
    const now = Date.now();
    const [hour, minute] = [Math.floor(now / HOUR), Math.floor(now / MINUTE)];
    const written = entry('a', { ordinal: ordinalOf(now), isWhole });
    const counts: StoredCounts = { delivered: 1 };
    await store.write([history({ entries: [written], hours: [[hour, counts]] })], now, [[minute, counts]]);
    await store.noteWaiting(1, now);
    const days = 8;
    const later = now + days * DAY;
    const ahead = await createHistoryStore(opened.storage);
    const another = entry('b', { ordinal: ordinalOf(later), isWhole });
    await ahead.write([history({ entries: [another], hours: [[hour + days * 24, counts]] })], later, [
      [minute + days * 1_440, counts],
    ]);
    await ahead.noteWaiting(1, later);
    expect(await idsOf('crm', 100, now)).toEqual(['a', 'b']);
    expect(await store.hours('crm', hour, hour)).toEqual([[hour, counts]]);
    expect(await store.minutes(minute, minute)).toEqual([[minute, counts]]);
    expect(await store.waiting('hour', hour, hour)).toEqual([[hour, 1]]);
    expect(await store.waiting('minute', minute, minute)).toEqual([[minute, 1]]);
  });

  it.each([
    ['several attempts', false],
    ['their first attempt', true],
  ])(
    'keeps new entries if the clock of the server is behind the clocks of all workers: delivered by %s',
    async (_, isWhole) => {
      const [before, now] = [Date.now() - MINUTE, Date.now() + 10 * MINUTE];
      const entries = Array.from({ length: 200 }, (_, n) =>
        entry(`early${n}`, { ordinal: ordinalOf(before) + n, isWhole }),
      );
      await store.write([history({ entries })], now);
      await store.write([history({ entries: [entry('new', { ordinal: ordinalOf(now), isWhole })] })], now);
      expect(await idsOf('crm', 2, now)).toEqual(['new', 'early199']);
    },
  );

  describe('after a clock was hours ahead and was corrected', () => {
    const now = Date.now();
    const late = ordinalOf(now + 3 * HOUR);

    it.each([
      ['several attempts', false],
      ['their first attempt', true],
    ])(
      'returns entries written since then first, and keeps them: messages delivered by %s',
      async (_, isWhole) => {
        const hundred = (name: string, first: number): WrittenEntry[] =>
          Array.from({ length: 100 }, (_, n) => entry(`${name}${n}`, { ordinal: first + n, isWhole }));
        await store.write([history({ entries: hundred('early', late) })], now + 3 * HOUR);
        const [first, ...others] = hundred('new', ordinalOf(now));
        await store.write([history({ entries: first === undefined ? [] : [first] })], now);
        expect((await idsOf('crm', 3, now)).slice(0, 2)).toEqual(['new0', 'early99']);
        await store.write([history({ entries: others })], now);
        expect(await idsOf('crm', 100, now)).toEqual(Array.from({ length: 100 }, (_, n) => `new${99 - n}`));
        expect(await storedEntries()).toBe(100);
      },
    );

    it('has kept only 100 entries even before the correction', async () => {
      for (let number = 0; number < 250; number += 50) {
        const entries = Array.from({ length: 50 }, (_, n) =>
          entry(`m${number + n}`, { ordinal: late + number + n }),
        );
        await store.write([history({ entries })], now + 3 * HOUR);
      }
      expect(await idsOf('crm', 1_000, now)).toEqual(Array.from({ length: 100 }, (_, n) => `m${249 - n}`));
      expect(await storedEntries()).toBe(100);
    });

    it.each([
      ['failed for good', named('tried'), { ...named('failed'), state: 'failed' }, false],
      ['was delivered after a replay', { ...named('failed'), state: 'failed' }, entry('a').head, false],
      [
        'was delivered by the first attempt after a replay',
        { ...named('failed'), state: 'failed' },
        entry('a').head,
        true,
      ],
    ] as const)('shows that a message %s', async (_, before, head, isWhole) => {
      await store.write([history({ entries: [entry('a', { ordinal: late, head: before })] })], now);
      const ordinal = ordinalOf(now);
      const after = entry('a', { ordinal, head, attempts: attempts(2), isWhole });
      await store.write([history({ entries: [after] })], now);
      expect(await store.recent('crm', 100, now)).toEqual([
        { messageId: 'a', ordinal, head, attempts: attempts(1, 2) },
      ]);
    });
  });

  it('returns messages in one order, whether or not their first attempt delivered them', async () => {
    const at = (later: number): number => ordinalOf(NOW) + later;
    const whole = [
      entry('a\nb', { ordinal: at(1) }),
      entry('c', { ordinal: at(3), attempts: attempts(1, 2) }),
    ];
    const others = [entry('d', { ordinal: at(2) }), entry('e', { ordinal: at(4), attempts: [] })];
    await store.write(
      [history({ entries: [...whole.map((one) => ({ ...one, isWhole: true })), ...others] })],
      NOW,
    );
    expect(await store.recent('crm', 100, NOW)).toEqual([others[1], whole[1], others[0], whole[0]]);
    expect(await idsOf('crm', 3)).toEqual(['e', 'c', 'd']);
  });

  it('returns the time and the answer of each attempt, whatever the messages of a batch have in common', async () => {
    const at = (later: number): number => ordinalOf(NOW) + later;
    const [first, other] = [attempts(1), attempts(1).map((one) => ({ ...one, url: 'other', status: 204 }))];
    const timed = (given: UrlOutcome[], later: number, duration: number): UrlOutcome[] =>
      given.map((one, index) => ({ ...one, at: NOW + later + index, duration: duration + index }));
    const like = { head: named('same') };
    const entries = [
      entry('a', { ...like, ordinal: at(1), attempts: timed([...first, ...other], 7, 30) }),
      entry('b', { ...like, ordinal: at(2), attempts: timed([...first, ...other], 3, 0) }),
      entry('c', { ...like, ordinal: at(5), attempts: timed([...other, ...first], 3, 2) }),
      entry('d', { ...like, ordinal: at(6), head: named('another'), attempts: timed(other, 0, 1) }),
      entry('e', { ...like, ordinal: at(9), attempts: timed(other, 1, 1) }),
      entry('f', {
        ...like,
        ordinal: at(10),
        attempts: timed(other, 2, 9).map((one) => ({ ...one, excerpt: 'ok' })),
      }),
    ];
    const whole = entries.map((one) => ({ ...one, isWhole: true }));
    await store.write([history({ entries: whole })], NOW);
    expect(await store.recent('crm', 100, NOW)).toEqual(entries.reverse());
  });

  it('returns a message that was delivered again as one entry with all attempts', async () => {
    const at = (later: number): number => ordinalOf(NOW) + later;
    const failed = entry('a', { ordinal: at(1), head: named('failed'), attempts: attempts(1, 2) });
    const replayed = entry('a', {
      ordinal: at(3),
      head: named('replayed'),
      attempts: attempts(3),
      isWhole: true,
    });
    await store.write([history({ entries: [failed, entry('b', { ordinal: at(2) })] })], NOW);
    await store.write([history({ entries: [replayed] })], NOW);
    await store.write([history({ entries: [{ ...replayed, ordinal: at(4), attempts: attempts(4) }] })], NOW);
    const found = await store.recent('crm', 100, NOW);
    expect(found.map(({ messageId }) => messageId)).toEqual(['a', 'b']);
    expect(found[0]).toEqual({
      ...failed,
      ordinal: at(4),
      head: replayed.head,
      attempts: attempts(1, 2, 3, 4),
    });
  });

  it('adds up the counts that processes write for the same hour', async () => {
    const counts = { delivered: 2, '17': 1, '20': 3 };
    const write = (given: Record<string, number>): Promise<void> =>
      writeAsAnother([history({ hours: [[THIS_HOUR, given]] })], NOW);
    await Promise.all(Array.from({ length: 20 }, () => write(counts)));
    await write({ failed: 1, '17': 4 });
    await write({});
    const [[hour, found] = []] = await store.hours('crm', THIS_HOUR, THIS_HOUR);
    expect(hour).toBe(THIS_HOUR);
    expect(found).toEqual({ delivered: 40, failed: 1, '17': 24, '20': 60 });
  });

  it('returns only the requested hours', async () => {
    const hours = [5, 4, 3, 2, 1, 0].map((ago): StoredHistory['hours'][number] => [
      THIS_HOUR - ago,
      { delivered: ago + 1 },
    ]);
    await store.write([history({ hours })], NOW);
    const found = await store.hours('crm', THIS_HOUR - 3, THIS_HOUR - 2);
    expect(new Map(found)).toEqual(
      new Map([
        [THIS_HOUR - 3, { delivered: 4 }],
        [THIS_HOUR - 2, { delivered: 3 }],
      ]),
    );
  });

  it('adds up the counts that processes write for the same minute, and returns only the requested minutes', async () => {
    const write = (minute: number, counts: StoredCounts): Promise<void> =>
      store.write([history({})], NOW, [[minute, counts]]);
    expect(await store.minutes(0, THIS_MINUTE)).toEqual([]);
    await Promise.all(Array.from({ length: 20 }, () => write(THIS_MINUTE, { delivered: 2, failed: 1 })));
    await write(THIS_MINUTE, { retried: 5 });
    await write(THIS_MINUTE - 1, { delivered: 1 });
    await write(THIS_MINUTE - 2, { delivered: 7 });
    expect(new Map(await store.minutes(THIS_MINUTE - 1, THIS_MINUTE))).toEqual(
      new Map([
        [THIS_MINUTE - 1, { delivered: 1 }],
        [THIS_MINUTE, { delivered: 40, failed: 20, retried: 5 }],
      ]),
    );
  });

  it('adds the counts of a minute even if nothing else is written', async () => {
    await store.write([], NOW, [[THIS_MINUTE, { delivered: 2 }]]);
    expect(await store.minutes(THIS_MINUTE, THIS_MINUTE)).toEqual([[THIS_MINUTE, { delivered: 2 }]]);
  });

  it('keeps the highest number of waiting messages per minute and per hour, without adding up', async () => {
    expect(await store.waiting('hour', 0, THIS_HOUR)).toEqual([]);
    await Promise.all([12, 30, 7, 30].map((messages) => store.noteWaiting(messages, NOW)));
    await store.noteWaiting(5, NOW + MINUTE);
    await store.noteWaiting(0, NOW + HOUR);
    expect(new Map(await store.waiting('minute', THIS_MINUTE, THIS_MINUTE + 60))).toEqual(
      new Map([
        [THIS_MINUTE, 30],
        [THIS_MINUTE + 1, 5],
        [THIS_MINUTE + 60, 0],
      ]),
    );
    expect(new Map(await store.waiting('hour', 0, THIS_HOUR + 1))).toEqual(
      new Map([
        [THIS_HOUR, 30],
        [THIS_HOUR + 1, 0],
      ]),
    );
    expect(await store.waiting('hour', THIS_HOUR + 1, THIS_HOUR + 1)).toHaveLength(1);
  });

  it('stores minutes for two hours, and hours of waiting messages for seven days, but no longer', async () => {
    const minutes = Array.from({ length: 125 }, (_, n) => THIS_MINUTE + n);
    await Promise.all(minutes.map((minute) => store.noteWaiting(1, minute * MINUTE)));
    const later = NOW + 125 * MINUTE;
    await store.write(
      [],
      NOW,
      minutes.map((minute) => [minute, { delivered: 1 }]),
    );
    const next = await createHistoryStore(opened.storage);
    await next.write([], later, [[THIS_MINUTE + 125, { delivered: 1 }]]);
    await next.noteWaiting(1, later);
    expect(await store.minutes(0, EVER)).toHaveLength(120);
    expect(await store.waiting('minute', 0, EVER)).toHaveLength(120);
    expect(await store.waiting('hour', 0, EVER)).toHaveLength(3);
    await next.noteWaiting(1, later + 7 * DAY);
    expect(await store.waiting('hour', 0, EVER)).toHaveLength(1);
    expect(await store.waiting('minute', 0, EVER)).toHaveLength(1);
    if (opened.storage.kind !== 'redis') return;
    // Redis expires keys by its own clock, so check the time to live.
    const limits = { minutes: 2 * HOUR, 'waiting-minute': 2 * HOUR, 'waiting-hour': 7 * DAY };
    for (const [name, limit] of Object.entries(limits)) {
      const key = `{nestjs-analytics:history}:${name}:`;
      const left = Number(await opened.storage.client.eval("return redis.call('PTTL', KEYS[1])", 1, key));
      expect(left).toBeGreaterThan(limit - HOUR);
      expect(left).toBeLessThanOrEqual(limit);
    }
  });

  it('keeps the hour counts readable and writable for processes of the previous version', async () => {
    const total = history({ destination: ALL_DESTINATIONS });
    await store.write([total], NOW, [[THIS_MINUTE, { delivered: 1 }]]);
    await store.noteWaiting(30, NOW);
    expect(await store.hours(ALL_DESTINATIONS, 0, EVER)).toEqual([[THIS_HOUR, { delivered: 1 }]]);
    // A process of the previous version came first, and created no tables for minutes.
    const { storage } = opened;
    if (storage.kind === 'postgres') {
      await storage.pool.query(
        'DROP TABLE nestjs_analytics.delivery_minute, nestjs_analytics.delivery_waiting',
      );
    }
    const next = await createHistoryStore(storage);
    if (storage.kind === 'postgres') expect(await next.minutes(0, EVER)).toEqual([]);
    await next.noteWaiting(30, NOW);
    await next.write([total], NOW, [[THIS_MINUTE, { delivered: 1 }]]);
    expect(await next.hours(ALL_DESTINATIONS, 0, EVER)).toEqual([[THIS_HOUR, { delivered: 2 }]]);
    expect(await next.waiting('minute', 0, EVER)).toEqual([[THIS_MINUTE, 30]]);
  });

  it('forgets the history after seven days, also of a destination that is no longer used', async () => {
    await store.write([history({ entries: [entry('old')] })], NOW);
    const later = NOW + 7 * DAY;
    expect(await idsOf('crm', 100, later - HOUR)).toEqual(['old']);
    expect(await idsOf('crm', 100, later)).toEqual([]);
    const other = entry('new', { ordinal: ordinalOf(later) });
    const hours: StoredHistory['hours'] = [[THIS_HOUR + 7 * 24, { delivered: 1 }]];
    await writeAsAnother([{ destination: 'other', entries: [other], hours }], later);
    // Redis expires keys by its own clock, so check the time to live.
    if (opened.storage.kind === 'redis') {
      for (const kind of ['entries', 'order', 'hours']) {
        const key = `{nestjs-analytics:history}:${kind}:crm`;
        const left = await opened.storage.client.eval("return redis.call('PTTL', KEYS[1])", 1, key);
        expect(Number(left)).toBeGreaterThan(6 * DAY);
        expect(Number(left)).toBeLessThanOrEqual(7 * DAY);
      }
    } else expect(await storedEntries()).toBe(1);
  });

  it('forgets the history after seven days, even if nothing is delivered any more', async () => {
    await store.write([history({ entries: [entry('old')] })], NOW, [[THIS_MINUTE, { delivered: 1 }]]);
    const later = NOW + 7 * DAY;
    const next = await createHistoryStore(opened.storage);
    await next.noteWaiting(0, later - HOUR);
    expect(await storedEntries()).toBe(1);
    await next.noteWaiting(0, later);
    // Redis expires keys by its own clock.
    if (opened.storage.kind === 'redis') return;
    expect(await storedEntries()).toBe(0);
    expect(await store.hours('crm', 0, EVER)).toEqual([]);
    expect(await store.minutes(0, EVER)).toEqual([]);
    const { rows } = await opened.storage.pool.query('SELECT FROM nestjs_analytics.delivery_writer');
    expect(rows).toHaveLength(0);
  });

  it.each([
    ['messages that took several attempts', false],
    ['messages that were delivered by the first', true],
  ])('removes %s after seven days, also if the destination is in use', async (_, isWhole) => {
    await store.write([history({ entries: [entry('old', { isWhole })] })], NOW);
    const later = NOW + 7 * DAY;
    const hours = Array.from({ length: 168 }, (_, index): StoredHistory['hours'][number] => [
      THIS_HOUR + 1 + index,
      { delivered: 1 },
    ]);
    const next = await createHistoryStore(opened.storage);
    const entries = [entry('new', { ordinal: ordinalOf(later), isWhole })];
    await next.write([history({ entries, hours })], later);
    expect(await storedEntries()).toBe(1);
    expect(await store.hours('crm', THIS_HOUR, THIS_HOUR)).toEqual([]);
    expect(await store.hours('crm', 0, THIS_HOUR + 168)).toHaveLength(168);
  });

  it('forgets a single destination at once on request', async () => {
    const both = ['crm', 'other'].map((destination) => history({ destination, entries: [entry('a')] }));
    await store.write(both, NOW);
    await store.forget('crm');
    expect(await idsOf('crm')).toEqual([]);
    expect(await store.hours('crm', 0, THIS_HOUR)).toEqual([]);
    expect(await idsOf('other')).toEqual(['a']);
    expect(await store.hours('other', 0, THIS_HOUR)).toHaveLength(1);
  });

  it('stays correct while several processes write to the same destinations', async () => {
    const destinations = Array.from({ length: 20 }, (_, n) => `d${n}`);
    const writes = Array.from({ length: 10 }, (_, writer) =>
      writeAsAnother(
        destinations.map((destination) => {
          const entries = Array.from({ length: 20 }, (_, n) => {
            const number = writer * 20 + n;
            return entry(`m${number % 150}`, {
              ordinal: ordinalOf(NOW) + number,
              attempts: attempts(number),
            });
          });
          return history({ destination, entries });
        }),
        NOW,
      ),
    );
    await Promise.all(writes);
    const latest = [
      ...Array.from({ length: 50 }, (_, n) => `m${49 - n}`),
      ...Array.from({ length: 50 }, (_, n) => `m${149 - n}`),
    ];
    for (const destination of destinations) {
      expect(await idsOf(destination)).toEqual(latest);
      expect(await store.hours(destination, THIS_HOUR, THIS_HOUR)).toEqual([[THIS_HOUR, { delivered: 10 }]]);
    }
  });
});

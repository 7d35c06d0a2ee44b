import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { types } from 'node:util';
import { isAnswerLost } from '../../../queue/postgres/lost-answer.js';
import { OwnTables } from '../../../queue/postgres/own-tables.js';
import type { QueueStorage } from '../../../queue/queue-backend.js';
import { failureOf, isConnectionFailure } from '../../../queue/queue-failure.js';
import { RefusedTableError } from '../../../queue/refused-tables.js';
import { Mutex } from '../../../shared/mutex.js';
import {
  type HistoryStore,
  oldestOrdinal,
  type PeriodLength,
  type StoredEntry,
  type StoredHistory,
  type StoredPeriods,
} from '../history-store.js';
import { hourOf, parseCounts } from '../hour-counts.js';
import { minuteOf } from '../minute-counts.js';
import * as statements from './postgres-history-statements.js';
import { entryOf, textsOf } from './stored-texts.js';

/** How often this process removes what is too old, in milliseconds. */
const EXPIRE_INTERVAL = 3_600_000;
/**
 * Number of reads at once. Each takes one of the connections on which jobs are added, and keeps it while it waits for a
 * lock on its table.
 */
const MOST_READS = 2;
/** Time after which a write without an answer is repeated, in milliseconds. */
const REPEAT_AFTER = 1_000;

interface EntryRow {
  message_id: string;
  ordinal: string;
  head: string;
  attempts: string[];
}

interface CountsRow {
  number: string;
  counts: string;
}

interface WaitingRow {
  number: string;
  messages: string;
}

/** Stores the history on the queue's PostgreSQL, server or embedded: entries and counts in one statement. */
export class PostgresHistoryStore implements HistoryStore {
  readonly mostReads = MOST_READS;
  private readonly tables: OwnTables;
  /**
   * Runs one removal at a time: many destinations may be deleted at once, and each takes a connection as a read does.
   */
  private readonly removals = new Mutex();
  /** Runs one write at a time: after a write with a greater number, a write would do nothing. */
  private readonly writes = new Mutex();
  private readonly writer = randomUUID();
  private number = 0;
  private expiredAt = -Infinity;

  constructor(pool: Extract<QueueStorage, { kind: 'postgres' }>['pool']) {
    this.tables = new OwnTables(pool, statements.TABLES);
  }

  async write(histories: readonly StoredHistory[], now: number, minutes: StoredPeriods = []): Promise<void> {
    const params = [
      ...columnsOfEntries(histories),
      ...columnsOfHours(histories),
      minutes.map(([minute]) => minute),
      minutes.map(([, counts]) => JSON.stringify(counts)),
      now,
      this.writer,
    ];
    await this.writes.run(() => this.writeOnce([...params, ++this.number]));
    await this.tidy(histories, now);
  }

  async noteWaiting(messages: number, now: number): Promise<void> {
    const params = [messages, now, minuteOf(now), hourOf(now)];
    await this.tables.query(statements.NOTE_WAITING, params);
    // This runs even while nothing is delivered, and so nothing written.
    await this.expire(now);
  }

  async recent(destination: string, limit: number, now: number): Promise<StoredEntry[]> {
    const params = [destination, oldestOrdinal(now), limit, now];
    const rows = await this.tables.look<EntryRow>(statements.ENTRIES, statements.RECENT, params);
    return rows.map((row) => entryOf(row.message_id, Number(row.ordinal), row.head, row.attempts));
  }

  async hours(destination: string, first: number, last: number): Promise<StoredPeriods> {
    const params = [destination, first, last];
    return periodsOf(await this.tables.look<CountsRow>(statements.ENTRIES, statements.STATS, params));
  }

  async minutes(first: number, last: number): Promise<StoredPeriods> {
    const params = [first, last];
    return periodsOf(await this.tables.look<CountsRow>(statements.MINUTES, statements.TOTALS, params));
  }

  async waiting(length: PeriodLength, first: number, last: number): Promise<[number, number][]> {
    const params = [length, first, last];
    const rows = await this.tables.look<WaitingRow>(statements.WAITING_MESSAGES, statements.WAITING, params);
    return rows.map(({ number, messages }) => [Number(number), Number(messages)]);
  }

  async forget(destination: string): Promise<void> {
    await this.removals.run(() => this.tables.look(statements.ENTRIES, statements.FORGET, [destination]));
  }

  /**
   * Repeats a write whose answer is lost until it is answered, as Redis's client does: the server may have carried it
   * out, or may do so when it goes on. Meanwhile nothing else is written.
   */
  private async writeOnce(params: readonly unknown[]): Promise<void> {
    let isInDoubt = false;
    for (;;) {
      try {
        await this.tables.query(statements.WRITE, params);
        return;
      } catch (error) {
        isInDoubt ||= isAnswerLost(error);
        if (!isInDoubt || !isConnectionFailure(error)) throw error;
      }
      await pause(REPEAT_AFTER, undefined, { ref: false });
    }
  }

  /** Removes what is too old. Queue failures do not fail the write, which would be counted twice if repeated. */
  private async tidy(histories: readonly StoredHistory[], now: number): Promise<void> {
    try {
      const destinations = histories.map(({ destination }) => destination);
      await this.tables.query(statements.TRIM, [destinations, now]);
      await this.expire(now);
    } catch (error) {
      // An outage or a missing privilege is logged elsewhere.
      if (failureOf(error) === undefined) throw error;
    }
  }

  private async expire(now: number): Promise<void> {
    if (now - this.expiredAt < EXPIRE_INTERVAL) return;
    this.expiredAt = now;
    try {
      await this.tables.query(statements.EXPIRE, [now]);
    } catch (error) {
      // Try again: the log reports a table as usable once the statement that was refused last is answered.
      if (types.isNativeError(error) && error.cause instanceof RefusedTableError) this.expiredAt = -Infinity;
      throw error;
    }
  }
}

function periodsOf(rows: readonly CountsRow[]): StoredPeriods {
  return rows.map(({ number, counts }) => [Number(number), parseCounts(counts)]);
}

function columnsOfEntries(histories: readonly StoredHistory[]): unknown[][] {
  const rows = histories.flatMap(({ destination, entries }) =>
    entries.map((entry) => {
      const { messageId, ordinal } = entry;
      return { destination, messageId, ordinal, ...textsOf(entry) };
    }),
  );
  return [
    rows.map(({ destination }) => destination),
    rows.map(({ messageId }) => messageId),
    rows.map(({ ordinal }) => ordinal),
    rows.map(({ head }) => head),
    rows.map(({ attempts }) => attempts.join('\n')),
  ];
}

function columnsOfHours(histories: readonly StoredHistory[]): unknown[][] {
  const rows = histories.flatMap(({ destination, hours }) =>
    hours.map(([hour, counts]) => ({ destination, hour, counts })),
  );
  return [
    rows.map(({ destination }) => destination),
    rows.map(({ hour }) => hour),
    rows.map(({ counts }) => JSON.stringify(counts)),
  ];
}

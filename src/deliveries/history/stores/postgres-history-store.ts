import { OwnTables } from '../../../queue/postgres/own-tables.js';
import type { QueueStorage } from '../../../queue/queue-backend.js';
import { type HistoryStore, oldestOrdinal, type StoredEntry, type StoredHistory } from '../history-store.js';
import { oldestHour, parseCounts } from '../hour-counts.js';
import * as statements from './postgres-history-statements.js';

/** How often this process removes what is too old, in milliseconds. */
const EXPIRE_INTERVAL = 3_600_000;

interface EntryRow {
  message_id: string;
  ordinal: string;
  head: string;
  attempts: string[];
}

interface HourRow {
  hour: string;
  counts: string;
}

/** Stores the history on the queue's PostgreSQL, server or embedded: entries and counts in one statement. */
export class PostgresHistoryStore implements HistoryStore {
  private readonly tables: OwnTables;
  private expiredAt = -Infinity;

  constructor(pool: Extract<QueueStorage, { kind: 'postgres' }>['pool']) {
    this.tables = new OwnTables(pool, statements.TABLES);
  }

  async write(histories: readonly StoredHistory[], now: number): Promise<void> {
    await this.tables.query(statements.WRITE, [...columnsOfEntries(histories), ...columnsOfHours(histories)]);
    await this.tables.query(statements.TRIM, [histories.map(({ destination }) => destination)]);
    if (now - this.expiredAt < EXPIRE_INTERVAL) return;
    this.expiredAt = now;
    await this.tables.query(statements.EXPIRE, [oldestHour(now), oldestOrdinal(now)]);
  }

  async recent(destination: string, limit: number, now: number): Promise<StoredEntry[]> {
    const params = [destination, oldestOrdinal(now), limit];
    const rows = await this.tables.look<EntryRow>(statements.ENTRIES, statements.RECENT, params);
    return rows.map(({ message_id: messageId, ordinal, head, attempts }) => ({
      messageId,
      ordinal: Number(ordinal),
      head,
      attempts,
    }));
  }

  async hours(destination: string, first: number, last: number): Promise<StoredHistory['hours']> {
    const params = [destination, first, last];
    const rows = await this.tables.look<HourRow>(statements.ENTRIES, statements.STATS, params);
    return rows.map(({ hour, counts }) => [Number(hour), parseCounts(counts)]);
  }

  async forget(destination: string): Promise<void> {
    await this.tables.look(statements.ENTRIES, statements.FORGET, [destination]);
  }
}

function columnsOfEntries(histories: readonly StoredHistory[]): unknown[][] {
  const rows = histories.flatMap(({ destination, entries }) =>
    entries.map((entry) => ({ destination, ...entry })),
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

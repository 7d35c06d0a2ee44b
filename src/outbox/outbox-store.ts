import type { OutboxDatabase } from '../options/outbox-options.interface.js';
import { OutboxCheck, type OutboxCheckOptions } from './outbox-check.js';
import { OUTBOX_CHANNEL, type OutboxTable } from './outbox-table.js';

/** How long rows are claimed, in milliseconds. Those of a process that was killed are moved after it. */
export const CLAIM = 15_000;
/** How often a claim is renewed while rows cannot be moved or deleted, in milliseconds. */
export const RENEWAL = 5_000;

/** How many rows are claimed at once, and of how many bytes: no more once they have reached either. */
export interface ClaimLimit {
  rows: number;
  bytes: number;
}

/** What a row says beside its message. */
export interface RowWithoutMessage {
  id: number;
  /** When it was due, as text. Rows that were claimed together before have the same. */
  due: string;
  version: number;
  source: string;
  /** The destinations that are left; `null` for all. */
  destinations: string[] | null;
  /** Milliseconds since it was written. */
  age: number;
  /** Why it was not moved the last time, if that is known. */
  problem: string | null;
}

/** A row as it was claimed. */
export interface OutboxRow extends RowWithoutMessage {
  message: string;
  /** Bytes of the message in the database. */
  bytes: number;
}

interface ClaimedRows {
  rows: OutboxRow[];
  /** Whether more may be due. */
  isFull: boolean;
}

/** A row that is read again. */
export interface PostponedRow {
  id: number;
  /** Milliseconds until then. */
  delay: number;
  /** `null` for none. @default the same as before */
  problem?: string | null;
}

/** Rows that wait for room at the same destinations. */
export interface WaitingGroup {
  ids: number[];
  destinations: string[] | null;
}

/** The same as they are looked through. `bytes`: those of each row's message. */
export interface SizedWaitingGroup extends WaitingGroup {
  bytes: number[];
}

/** The rows of the outbox. */
export interface OutboxStatus {
  /** Messages that are committed and not in the queue yet. */
  waiting: number;
  /** Milliseconds since the oldest of them was written; 0 if none waits. */
  oldestAge: number;
  /** Rows that cannot be moved. The column `problem` says why. */
  setAside: number;
}

/** What the relay does with the table. */
export class OutboxStore {
  constructor(
    private readonly database: OutboxDatabase,
    readonly table: OutboxTable,
    private readonly checkOptions: OutboxCheckOptions,
  ) {}

  /**
   * Checks that the table is there, of this version, and that the user may do with it what is needed. With
   * `migrate`, it is created first.
   *
   * @throws OutboxTableError, UnsupportedOutboxDatabaseError, or the error of an unreachable database
   */
  async check(): Promise<void> {
    await new OutboxCheck(this.database, this.table, this.checkOptions).run();
  }

  /** Takes rows for some milliseconds, in the order in which they were written. */
  async claim(duration: number, limit: ClaimLimit): Promise<ClaimedRows> {
    const rows = await this.rows<OutboxRow>(this.table.claim, [duration, limit.rows, limit.bytes]);
    const bytes = rows.reduce((sum, row) => sum + row.bytes, 0);
    const isFull = rows.length === limit.rows || bytes >= limit.bytes;
    return { rows: rows.sort((a, b) => a.id - b.id), isFull };
  }

  /** Makes rows claimable again after some milliseconds. */
  postpone(ids: readonly number[], delay: number): Promise<void> {
    return this.postponeEach(ids.map((id) => ({ id, delay })));
  }

  async postponeEach(rows: readonly PostponedRow[]): Promise<void> {
    if (rows.length === 0) return;
    await this.database.query(this.table.postpone, [
      rows.map(({ id }) => id),
      rows.map(({ delay }) => delay),
      rows.map(({ problem }) => (problem === null ? '' : (problem ?? null))),
    ]);
  }

  /** Resolves to the ids of rows that are still there, though the database has reported no error. */
  async remove(ids: readonly number[]): Promise<number[]> {
    if (ids.length === 0) return [];
    const [removed] = await this.rows<{ count: number }>(this.table.remove, [ids]);
    if (removed?.count === ids.length) return [];
    // Another relay may have removed them, if their claim had run out.
    const left = await this.rows<{ id: number }>(this.table.find, [ids]);
    return left.map(({ id }) => id);
  }

  /**
   * Leaves rows alone until there is room at one of their destinations.
   *
   * @param destinations those that are left, or `null` if they are the same as before
   */
  async wait(ids: readonly number[], destinations: readonly string[] | null): Promise<void> {
    await this.database.query(this.table.wait, [ids, destinations]);
  }

  /** The first rows that wait for room after an id, in the order in which they were written. */
  waiting(after: number, limit: number): Promise<SizedWaitingGroup[]> {
    return this.rows<SizedWaitingGroup>(this.table.waiting, [after, limit]);
  }

  /** Takes rows that wait for room for some milliseconds. Other relays may have taken some of them. */
  async claimWaiting(duration: number, ids: readonly number[]): Promise<OutboxRow[]> {
    const rows = await this.rows<OutboxRow>(this.table.claimWaiting, [duration, ids]);
    return rows.sort((a, b) => a.id - b.id);
  }

  async setAside(ids: readonly number[], problem: string): Promise<void> {
    await this.database.query(this.table.setAside, [ids, problem]);
  }

  async status(): Promise<OutboxStatus> {
    const [row] = await this.rows<OutboxStatus & { oldestAge: number | null }>(this.table.status, []);
    return {
      waiting: row?.waiting ?? 0,
      oldestAge: Math.max(Math.round(row?.oldestAge ?? 0), 0),
      setAside: row?.setAside ?? 0,
    };
  }

  /** Calls back when something was committed to this table, or perhaps was. Resolves to the function that ends it. */
  async listen(callback: () => void): Promise<() => Promise<void>> {
    const unlisten = await this.database.listen?.(OUTBOX_CHANNEL, (table: unknown) => {
      // An application's own `listen` may pass on anything, such as all of the notification.
      if (typeof table !== 'string' || table === '' || table === this.table.name) callback();
    });
    return unlisten ?? (() => Promise.resolve());
  }

  /** As with `pg`, only the caller knows the type of the rows. */
  private async rows<R>(text: string, values: unknown[]): Promise<R[]> {
    const { rows } = await this.database.query(text, values);
    return rows as R[];
  }
}

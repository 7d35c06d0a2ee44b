import type { OutboxDatabase } from '../options/outbox-options.interface.js';
import { OutboxCheck, type OutboxCheckOptions } from './outbox-check.js';
import { OUTBOX_CHANNEL, type OutboxTable } from './outbox-table.js';

/** Duration of a claim, in milliseconds. After that, the rows of a process that was killed are moved by others. */
export const CLAIM = 15_000;
/** Time between two renewals of a claim while rows cannot be moved or deleted, in milliseconds. */
export const RENEWAL = 5_000;

/** Maximum number of rows to claim at once, and of their bytes. The row that reaches the limit is still claimed. */
export interface ClaimLimit {
  rows: number;
  bytes: number;
}

/** Which of the rows that are due to claim. */
export interface DueRange {
  /** Rows that were never claimed are claimed if their id is higher. */
  after: number;
  /** Rows that were claimed before are claimed if they are due for no longer than this, in milliseconds; `null`: all. */
  dueFor: number | null;
  /** Whether rows that were claimed before are claimed. */
  takesAgain: boolean;
}

/** A row without its message. */
export interface RowWithoutMessage {
  id: number;
  /** Time at which the row was due, as text. Rows that were claimed together before have the same time. */
  due: string;
  version: number;
  source: string;
  /** Ids of the destinations that are left; `null` for all. */
  destinations: string[] | null;
  /** Milliseconds since the row was written. */
  age: number;
  /** Reason why the row was not moved the last time, if known. */
  problem: string | null;
}

/** A claimed row. */
export interface OutboxRow extends RowWithoutMessage {
  message: string;
  /** Bytes of the message in the database. */
  bytes: number;
}

export interface ClaimedRows {
  rows: OutboxRow[];
  /** Whether more rows may be due. */
  isFull: boolean;
}

/** A row to read again later. */
export interface PostponedRow {
  id: number;
  /** Milliseconds until the row is read again. */
  delay: number;
  /** Problem to store; `null` for none. @default the same as before */
  problem?: string | null;
}

/** Rows that wait for room at the same destinations. */
export interface WaitingGroup {
  ids: number[];
  destinations: string[] | null;
}

/** A group with the size of each row's message, in bytes. */
export interface SizedWaitingGroup extends WaitingGroup {
  bytes: number[];
}

/** Number and age of the rows in the outbox. */
export interface OutboxStatus {
  /** Messages that are committed and not in the queue yet. */
  waiting: number;
  /** Milliseconds since the oldest of these messages was written; 0 if none waits. */
  oldestAge: number;
  /** Rows that cannot be moved. The column `problem` says why. */
  setAside: number;
}

interface OutboxCount extends Omit<OutboxStatus, 'oldestAge'> {
  oldestAge: number | null;
  /** `null` if there is no row. */
  newAfter: number | null;
}

/** Reads and changes the rows of the outbox. */
export class OutboxStore {
  private lastNewAfter = 0;

  constructor(
    private readonly database: OutboxDatabase,
    readonly table: OutboxTable,
    private readonly checkOptions: OutboxCheckOptions,
  ) {}

  /**
   * Checks that the table exists and has this version, and that the user has the privileges needed. With
   * `migrate`, creates a missing table first.
   *
   * @throws OutboxTableError, UnsupportedOutboxDatabaseError, or the error of an unreachable database
   */
  async check(): Promise<void> {
    await new OutboxCheck(this.database, this.table, this.checkOptions).run();
  }

  /** When rows were last counted, all those that were never claimed had higher ids. 0 if that is not known. */
  get newAfter(): number {
    return this.lastNewAfter;
  }

  /** Claims due rows for `duration` milliseconds. Resolves to them in the order in which they were written. */
  async claim(duration: number, limit: ClaimLimit, range: DueRange): Promise<ClaimedRows> {
    const { after, dueFor, takesAgain } = range;
    const values = [duration, limit.rows, limit.bytes, after, dueFor, takesAgain ? limit.rows : 0];
    const rows = await this.rows<OutboxRow>(this.table.claim, values);
    const bytes = rows.reduce((sum, row) => sum + row.bytes, 0);
    const isFull = rows.length === limit.rows || bytes >= limit.bytes;
    return { rows: rows.sort((a, b) => a.id - b.id), isFull };
  }

  /** Makes rows claimable again after `delay` milliseconds. */
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

  /** Deletes rows. Resolves to the ids of rows that are still there although the database reported no error. */
  async remove(ids: readonly number[]): Promise<number[]> {
    if (ids.length === 0) return [];
    const [removed] = await this.rows<{ count: number }>(this.table.remove, [ids]);
    if (removed?.count === ids.length) return [];
    // Another relay may have removed the rows if their claim had expired.
    const left = await this.rows<{ id: number }>(this.table.find, [ids]);
    return left.map(({ id }) => id);
  }

  /**
   * Leaves rows alone until one of their destinations has room.
   *
   * @param destinations ids of the destinations that are left, or `null` if they are the same as before
   */
  async wait(ids: readonly number[], destinations: readonly string[] | null): Promise<void> {
    await this.database.query(this.table.wait, [ids, destinations]);
  }

  /** Resolves to the first rows after an id that wait for room, grouped by their destinations. */
  waiting(after: number, limit: number): Promise<SizedWaitingGroup[]> {
    return this.rows<SizedWaitingGroup>(this.table.waiting, [after, limit]);
  }

  /** Claims rows that wait for room, for `duration` milliseconds. Other relays may have claimed some of them. */
  async claimWaiting(duration: number, ids: readonly number[]): Promise<OutboxRow[]> {
    const rows = await this.rows<OutboxRow>(this.table.claimWaiting, [duration, ids]);
    return rows.sort((a, b) => a.id - b.id);
  }

  async setAside(ids: readonly number[], problem: string): Promise<void> {
    await this.database.query(this.table.setAside, [ids, problem]);
  }

  async status(): Promise<OutboxStatus> {
    const [row] = await this.rows<OutboxCount>(this.table.status, []);
    this.lastNewAfter = row?.newAfter ?? this.lastNewAfter;
    return {
      waiting: row?.waiting ?? 0,
      oldestAge: Math.max(Math.round(row?.oldestAge ?? 0), 0),
      setAside: row?.setAside ?? 0,
    };
  }

  /** Calls back when a row was, or may have been, committed to this table. Resolves to the function that ends this. */
  async listen(callback: () => void): Promise<() => Promise<void>> {
    const unlisten = await this.database.listen?.(OUTBOX_CHANNEL, (table: unknown) => {
      // An application's own `listen` may pass anything, such as the whole notification.
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

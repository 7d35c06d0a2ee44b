import { OutboxTableError, UnsupportedOutboxDatabaseError } from '../errors/outbox.errors.js';
import type { OutboxDatabase } from '../options/outbox-options.interface.js';
import { codesOf } from './database-error.js';
import { OUTBOX_CHANNEL, OUTBOX_VERSION, type OutboxTable } from './outbox-table.js';

/** A row as it was claimed. */
export interface OutboxRow {
  id: number;
  /** When it was due, as text. Rows that were claimed together before have the same. */
  due: string;
  version: number;
  source: string;
  message: string;
  /** The destinations that are left; `null` for all. */
  destinations: string[] | null;
  /** Milliseconds since it was written. */
  age: number;
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

/** Answers of a database that cannot carry an outbox, whatever is tried later. */
const UNUSABLE: Readonly<Record<string, string>> = {
  '3D000': 'there is no such database',
  '28P01': 'the password is wrong',
  '28000': 'the server does not let this user in',
};

/** What the relay does with the table. */
export class OutboxStore {
  constructor(
    private readonly database: OutboxDatabase,
    readonly table: OutboxTable,
    private readonly migrate: boolean,
  ) {}

  /**
   * Checks that the table is there and of this version. With `migrate`, it is created first.
   *
   * @throws OutboxTableError, UnsupportedOutboxDatabaseError, or the error of an unreachable database
   */
  async check(): Promise<void> {
    let version = await this.version();
    if (version === undefined && this.migrate) {
      await this.database.query(this.table.migrate, []);
      version = await this.version();
    }
    if (version === OUTBOX_VERSION) return;
    throw new OutboxTableError(
      this.table.name,
      version === undefined
        ? 'does not exist, or its comment does not say that it is an outbox'
        : `has version ${version}, and this version of nestjs-analytics needs ${OUTBOX_VERSION}`,
    );
  }

  /** Takes rows for some milliseconds, in the order in which they were written. */
  async claim(duration: number, limit: number): Promise<OutboxRow[]> {
    const rows = await this.rows<OutboxRow>(this.table.claim, [duration, limit]);
    return rows.sort((a, b) => a.id - b.id);
  }

  /** Makes rows claimable again after some milliseconds. */
  async postpone(ids: readonly number[], delay: number): Promise<void> {
    if (ids.length > 0) await this.database.query(this.table.postpone, [ids, delay]);
  }

  async remove(ids: readonly number[]): Promise<void> {
    if (ids.length > 0) await this.database.query(this.table.remove, [ids]);
  }

  /** Leaves rows to be moved to some destinations after some milliseconds. */
  async leave(ids: readonly number[], destinations: readonly string[], delay: number): Promise<void> {
    await this.database.query(this.table.leave, [ids, destinations, delay]);
  }

  async setAside(id: number, problem: string): Promise<void> {
    await this.database.query(this.table.setAside, [id, problem]);
  }

  async status(): Promise<OutboxStatus> {
    const [row] = await this.rows<OutboxStatus & { oldestAge: number | null }>(this.table.status, []);
    return {
      waiting: row?.waiting ?? 0,
      oldestAge: Math.max(Math.round(row?.oldestAge ?? 0), 0),
      setAside: row?.setAside ?? 0,
    };
  }

  /** Calls back when something was committed. Resolves to the function that ends it. */
  async listen(callback: () => void): Promise<() => Promise<void>> {
    const unlisten = await this.database.listen?.(OUTBOX_CHANNEL, callback);
    return unlisten ?? (() => Promise.resolve());
  }

  /** The version of the table; NaN if its comment says none, `undefined` if there is no table. */
  private async version(): Promise<number | undefined> {
    let result: unknown;
    try {
      result = await this.database.query(this.table.look, []);
    } catch (cause) {
      throw unusable(cause) ?? cause;
    }
    const rows = typeof result === 'object' && result !== null && 'rows' in result ? result.rows : undefined;
    if (!Array.isArray(rows)) throw new UnsupportedOutboxDatabaseError('its `query` resolves to no `rows`');
    const [row] = rows as { comment: string | null }[];
    const version = this.table.versionOf(row?.comment ?? null);
    return Number.isNaN(version) ? undefined : version;
  }

  /** As with `pg`, only the caller knows the type of the rows. */
  private async rows<R>(text: string, values: unknown[]): Promise<R[]> {
    const { rows } = await this.database.query(text, values);
    return rows as R[];
  }
}

/** What an error of the first statement says about a database that can never carry an outbox. */
function unusable(cause: unknown): UnsupportedOutboxDatabaseError | undefined {
  for (const code of codesOf(cause)) {
    const fault = UNUSABLE[code];
    if (fault !== undefined) return new UnsupportedOutboxDatabaseError(fault, { cause });
    // PostgreSQL knows the statement, so that only another database refuses its syntax or a function in it.
    if (/^(42601|42883|SQLITE_|ERR_SQLITE_|ER_)/.test(code)) {
      return new UnsupportedOutboxDatabaseError('it is not PostgreSQL', { cause });
    }
  }
  return undefined;
}

import { OutboxTableError, UnsupportedOutboxDatabaseError } from '../errors/outbox.errors.js';
import type { OutboxDatabase } from '../options/outbox-options.interface.js';
import { codesOf, INSUFFICIENT_PRIVILEGE } from './database-error.js';
import { missingPrivileges, RELAY_PRIVILEGES } from './outbox-privileges.js';
import { OUTBOX_VERSION, type OutboxTable } from './outbox-table.js';

/** PostgreSQL's error codes for a connection that is set up wrongly, so that no later attempt can succeed. */
const UNUSABLE: Readonly<Record<string, string>> = {
  '3D000': 'there is no such database',
  '28P01': 'the password is wrong',
  '28000': 'the server does not let this user in',
};

const CORRECT = 'Correct `outbox.connection`, or set the server up for it.';

export interface OutboxCheckOptions {
  /** Whether a missing table is created first. */
  migrate: boolean;
  /** Whether this connection also moves the rows, which needs all privileges. */
  isMoved: boolean;
}

interface TableState {
  /** Version in the table's comment; `undefined` if there is no such table or comment. */
  version: number | undefined;
  /** Privileges that a relay needs and the user lacks. */
  missing: string[];
}

/** Finds out whether a table can be used as an outbox. */
export class OutboxCheck {
  constructor(
    private readonly database: OutboxDatabase,
    private readonly table: OutboxTable,
    private readonly options: OutboxCheckOptions,
  ) {}

  /** @throws OutboxTableError, UnsupportedOutboxDatabaseError, or the error of an unreachable database */
  async run(): Promise<void> {
    const { migrate, isMoved } = this.options;
    let state = await this.look();
    if (state.version === undefined && migrate) {
      await this.create();
      state = await this.look();
    }
    const { version, missing } = state;
    if (version !== OUTBOX_VERSION) {
      throw new OutboxTableError(
        this.table.name,
        version === undefined
          ? 'does not exist, or its comment does not say that it is an outbox'
          : `has version ${version}, and this version of nestjs-analytics needs ${OUTBOX_VERSION}`,
      );
    }
    if (isMoved && missing.length > 0) throw missingPrivileges(this.table, missing);
  }

  private async create(): Promise<void> {
    try {
      await this.database.query(this.table.migrate, []);
    } catch (cause) {
      if (!codesOf(cause).includes(INSUFFICIENT_PRIVILEGE)) throw cause;
      const fault = 'does not exist, and this user may not create it';
      throw new OutboxTableError(this.table.name, fault, { cause });
    }
  }

  private async look(): Promise<TableState> {
    let result: unknown;
    try {
      result = await this.database.query(this.table.look, []);
    } catch (cause) {
      throw this.explain(cause);
    }
    const rows = typeof result === 'object' && result !== null && 'rows' in result ? result.rows : undefined;
    if (!Array.isArray(rows)) throw new UnsupportedOutboxDatabaseError('its `query` resolves to no `rows`');
    const [row] = rows as ({ comment: string | null } & Record<string, unknown>)[];
    const version = this.table.versionOf(row?.comment ?? null);
    const missing = RELAY_PRIVILEGES.filter((privilege) => row?.[privilege] === false);
    return { version: Number.isNaN(version) ? undefined : version, missing };
  }

  /** Returns a clearer error if the first statement shows that this database is unusable, otherwise the same error. */
  private explain(cause: unknown): unknown {
    for (const code of codesOf(cause)) {
      // Without USAGE on a schema, nothing in it can be found.
      if (code === INSUFFICIENT_PRIVILEGE) return missingPrivileges(this.table, ['USAGE'], { cause });
      const fault = UNUSABLE[code];
      if (fault !== undefined) return new UnsupportedOutboxDatabaseError(fault, { cause, whatToDo: CORRECT });
      // PostgreSQL accepts the statement, so only another database refuses its syntax or its functions.
      if (/^(42601|42883|SQLITE_|ERR_SQLITE_|ER_)/.test(code)) {
        return new UnsupportedOutboxDatabaseError('it is not PostgreSQL', { cause });
      }
    }
    return cause;
  }
}

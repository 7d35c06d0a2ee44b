import type { MessageStore, OutboxExecutor, StoredMessage } from '../client/message-store.js';
import { OutboxTableError, UnsupportedOutboxDatabaseError } from '../errors/outbox.errors.js';
import { stringify } from '../messages/serialize.js';
import type { ApplicationMarks } from '../queue/application-marks.js';
import { codesOf, INSUFFICIENT_PRIVILEGE } from './database-error.js';
import { missingPrivileges } from './outbox-privileges.js';
import type { OutboxTable } from './outbox-table.js';

/** PostgreSQL's error codes for a table that cannot be written to, each with its description. */
const TABLE_FAULTS: Readonly<Record<string, string>> = {
  '42P01': 'does not exist in the database of this transaction',
  '3F000': 'does not exist in the database of this transaction',
  '42703': 'is of another version',
};

/** Prefixes of the error codes with which other databases refuse the statement. */
const OTHER_DATABASES: readonly (readonly [start: string, name: string])[] = [
  ['SQLITE_', 'SQLite'],
  ['ERR_SQLITE_', 'SQLite'],
  ['ER_', 'MySQL'],
];

/**
 * Writes messages into the outbox, with the caller's executor. The whole message is stored as JSON text. Beside its own
 * fields are its terms, the marks of its application, and whether the application has destinations at run time.
 */
export class OutboxWriter implements MessageStore {
  constructor(
    private readonly table: OutboxTable,
    private readonly marks: Pick<ApplicationMarks, 'ofMessage'>,
    private readonly looksUp: boolean,
  ) {}

  /** Rejects with the executor's own error, for callers that look at its code, unless the outbox is set up wrongly. */
  async write(executor: OutboxExecutor, { source, message, terms }: StoredMessage): Promise<void> {
    const { marks, looksUp } = this;
    const ownTerms = { marks: marks.ofMessage(source), ...(looksUp && { looksUp }) };
    const stored = stringify({ ...message, ...terms, ...ownTerms });
    try {
      await executor.query(this.table.insert, [source, stored]);
    } catch (cause) {
      throw this.explain(cause);
    }
  }

  private explain(cause: unknown): unknown {
    for (const code of codesOf(cause)) {
      if (code === INSUFFICIENT_PRIVILEGE)
        return missingPrivileges(this.table, ['INSERT', 'USAGE'], { cause });
      const fault = TABLE_FAULTS[code];
      if (fault !== undefined) return new OutboxTableError(this.table.name, fault, { cause });
      const other = OTHER_DATABASES.find(([start]) => code.startsWith(start));
      if (other !== undefined) return new UnsupportedOutboxDatabaseError(`it is ${other[1]}`, { cause });
    }
    return cause;
  }
}

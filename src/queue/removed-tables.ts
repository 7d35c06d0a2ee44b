import { types } from 'node:util';

/** Codes of PostgreSQL for a table, a schema and a function that is not there. */
const MISSING: readonly string[] = ['42P01', '3F000', '42883'];

/** A table of this module's own, and its name without the schema. */
const OWN_TABLE = /\bnestjs_analytics\w*\.(\w+)/g;
/** In the names of tables that only the history of deliveries needs: every message arrives without them. */
export const OF_HISTORY = '.delivery_';
/** How this module asks which tables there are, without using one. */
export const LOOK = /^\s*SELECT to_regclass/;

/** The tables of this module's own that a statement names, with their schema. */
export function ownTablesIn(statement: string): string[] {
  return Array.from(statement.matchAll(OWN_TABLE), ([table]) => table);
}

/** The one that an error is about. The words around its name depend on the language of the server. */
export function ownTableNamed(message: string, statement: string): string | undefined {
  const tables = [...statement.matchAll(OWN_TABLE)];
  return tables.find(([, name]) => new RegExp(`\\b${name}\\b`).test(message))?.[0];
}

/** What to do about tables of this module's own that are missing. */
export function howToRestore(it: 'it' | 'them'): string {
  return (
    `restore ${it} from a backup in one transaction (\`pg_restore --single-transaction\`, ` +
    '`psql --single-transaction`), and stop deploys and autoscaling until then: the next process that starts, or first ' +
    `needs ${it}, makes ${it} again, empty`
  );
}

/** Somebody has removed what BullMQ needs, as a restore does that replaces the database. */
export class RemovedTablesError extends Error {
  constructor(
    readonly code: string,
    options: ErrorOptions,
  ) {
    super('tables or functions of the schema `bullmq` are missing', options);
  }
}

/** Somebody has removed a table of this module's own. The queue itself goes on without it. */
export class RemovedOwnTableError extends Error {
  constructor(
    /** With its schema. */
    readonly table: string,
    readonly code: string,
    options: ErrorOptions,
  ) {
    super(`the table \`${table}\` is missing: ${howToRestore('it')}`, options);
  }
}

/** The code of an error about something that is not there; `undefined` if it is about something else. */
export function missingCode(error: unknown): string | undefined {
  if (!types.isNativeError(error) || !('code' in error)) return undefined;
  return MISSING.find((code) => code === error.code);
}

/**
 * What was removed: as a `RemovedOwnTableError` if it was a table of this module's own, as a `RemovedTablesError` if BullMQ's
 * statement needs it.
 */
export function explainRemoval(error: unknown, statement = ''): unknown {
  const code = missingCode(error);
  if (code === undefined || !types.isNativeError(error)) return error;
  if (ownTablesIn(statement).length === 0) return new RemovedTablesError(code, { cause: error });
  const table = ownTableNamed(error.message, statement);
  return table === undefined ? error : new RemovedOwnTableError(table, code, { cause: error });
}

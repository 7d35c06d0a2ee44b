import { types } from 'node:util';

/** PostgreSQL's codes for a missing table, schema and function. */
const MISSING: readonly string[] = ['42P01', '3F000', '42883'];

/** Matches a table of this module's own, and captures its name without the schema. */
const OWN_TABLE = /\bnestjs_analytics\w*\.(\w+)/g;
/** Part of the names of tables that only the history of deliveries needs: every message arrives without them. */
export const OF_HISTORY = '.delivery_';
/** Matches the statement that asks which tables exist, without using any of them. */
export const LOOK = /^\s*SELECT to_regclass/;

/** Returns the tables of this module's own that a statement names, with their schema. */
export function ownTablesIn(statement: string): string[] {
  return Array.from(statement.matchAll(OWN_TABLE), ([table]) => table);
}

/** Returns the table that an error is about. The words around its name depend on the language of the server. */
export function ownTableNamed(message: string, statement: string): string | undefined {
  const tables = [...statement.matchAll(OWN_TABLE)];
  return tables.find(([, name]) => new RegExp(`\\b${name}\\b`).test(message))?.[0];
}

/** Returns what to do about missing tables of this module's own. */
export function howToRestore(it: 'it' | 'them'): string {
  return (
    `restore ${it} from a backup in one transaction (\`pg_restore --single-transaction\`, ` +
    '`psql --single-transaction`), and stop deploys and autoscaling until then: the next process that starts or first ' +
    `needs ${it} creates ${it} again, empty`
  );
}

/** Somebody has removed tables or functions that BullMQ needs, for example by a restore that replaces the database. */
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

/** Returns the code of an error about a missing table, schema or function; `undefined` for any other error. */
export function missingCode(error: unknown): string | undefined {
  if (!types.isNativeError(error) || !('code' in error)) return undefined;
  return MISSING.find((code) => code === error.code);
}

/**
 * Returns a `RemovedOwnTableError` if a table of this module's own is missing, a `RemovedTablesError` if a statement of
 * BullMQ lacks something, otherwise `error`.
 */
export function explainRemoval(error: unknown, statement = ''): unknown {
  const code = missingCode(error);
  if (code === undefined || !types.isNativeError(error)) return error;
  if (ownTablesIn(statement).length === 0) return new RemovedTablesError(code, { cause: error });
  const table = ownTableNamed(error.message, statement);
  return table === undefined ? error : new RemovedOwnTableError(table, code, { cause: error });
}

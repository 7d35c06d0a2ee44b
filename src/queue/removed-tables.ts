import { types } from 'node:util';

/** Codes of PostgreSQL for a table, a schema and a function that is not there. */
const MISSING: readonly string[] = ['42P01', '3F000', '42883'];

const OWN_SCHEMA = /\bnestjs_analytics\w*/;

/** Somebody has removed what BullMQ needs, as a restore does that replaces the database. */
export class RemovedTablesError extends Error {
  constructor(
    readonly code: string,
    options: ErrorOptions,
  ) {
    super('tables or functions of the schema `bullmq` are missing', options);
  }
}

/** The code of an error about something that is not there; `undefined` if it is about something else. */
export function missingCode(error: unknown): string | undefined {
  if (!types.isNativeError(error) || !('code' in error)) return undefined;
  return MISSING.find((code) => code === error.code);
}

/** What was removed, as a `RemovedTablesError` if BullMQ's statement needs it. */
export function explainRemoval(error: unknown, statement = ''): unknown {
  const code = missingCode(error);
  if (code === undefined || OWN_SCHEMA.test(statement)) return error;
  return new RemovedTablesError(code, { cause: error });
}

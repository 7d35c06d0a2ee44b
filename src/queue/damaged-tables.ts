import { types } from 'node:util';

/** Beginning of the reasons below. */
export const DAMAGED = 'its files are damaged';

/** PostgreSQL's codes for a damaged table and a damaged index. */
const REASONS: ReadonlyMap<string, string> = new Map([
  ['XX001', `${DAMAGED}: restore a backup`],
  ['XX002', `${DAMAGED}: run \`REINDEX SCHEMA bullmq\``],
]);

/** BullMQ's functions that add and take jobs. Others fail for a single job if only its own row is damaged. */
const OF_ALL_JOBS = /\b(?:add_job|add_jobs_bulk|move_to_active)\(/;

/** No job can be added or taken, because the files of BullMQ's tables are damaged. */
export class DamagedTablesError extends Error {
  constructor(
    /** In words. */
    readonly reason: string,
    readonly code: string,
    options: ErrorOptions,
  ) {
    super(reason, options);
  }
}

/**
 * Returns a `DamagedTablesError` if damage keeps the queue from its work, otherwise `error`: one job that cannot be
 * read any more keeps no other job waiting.
 */
export function explainDamage(error: unknown, statement = ''): unknown {
  if (!types.isNativeError(error) || !('code' in error) || typeof error.code !== 'string') return error;
  const reason = REASONS.get(error.code);
  if (reason === undefined || !OF_ALL_JOBS.test(statement)) return error;
  return new DamagedTablesError(reason, error.code, { cause: error });
}

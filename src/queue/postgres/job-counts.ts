import type { JobType, PgPool } from 'bullmq';
import { FOR_METRICS } from '../ended-statements.js';

/** While a queue is paused, its jobs without a priority count as `paused`. */
const IS_PAUSED = `EXISTS (SELECT 1 FROM meta WHERE queue = $1 AND field = 'paused' AND value = '1')`;

const countWhere = (condition: string): string =>
  `(SELECT count(*) FROM job WHERE queue = $1 AND ${condition})`;

const WITHOUT_PRIORITY = countWhere("state = 'waiting' AND priority = 0");
const WAITING = `CASE WHEN ${IS_PAUSED} THEN 0 ELSE ${WITHOUT_PRIORITY} END`;

/** Expressions for the types that BullMQ counts. Each expression reads one of BullMQ's indexes. */
const COUNTS: ReadonlyMap<string, string> = new Map([
  ['wait', WAITING],
  ['waiting', WAITING],
  ['paused', `CASE WHEN ${IS_PAUSED} THEN ${WITHOUT_PRIORITY} ELSE 0 END`],
  ['prioritized', countWhere("state = 'waiting' AND priority > 0")],
  ['active', countWhere("state = 'active'")],
  ['delayed', countWhere("state = 'delayed'")],
  ['completed', countWhere("state = 'completed'")],
  ['failed', countWhere("state = 'failed'")],
  ['waiting-children', countWhere("state = 'waiting-children'")],
]);

/** Types in which drivers return a bigint. */
type Count = string | number | bigint;

/** Resolves to the number of jobs of each type. BullMQ itself reads all jobs for that, whatever types are requested. */
export async function jobCountsIn(
  pool: Pick<PgPool, 'query'>,
  queue: string,
  types: readonly JobType[],
): Promise<number[]> {
  const expressions = types.map((type, at) => `${COUNTS.get(type) ?? '0'} AS n${at}`);
  const { rows } = await pool.query<Record<string, Count>>(
    `${FOR_METRICS} SELECT ${expressions.join(', ')}`,
    [queue],
  );
  return types.map((_, at) => Number(rows[0]?.[`n${at}`] ?? 0));
}

/** Reads the first job of an index. With `EXISTS`, PostgreSQL reads all jobs while its statistics are out of date. */
const firstOf = (state: string, order: string): string =>
  `(SELECT 1 FROM job WHERE queue = $1 AND state = '${state}' ORDER BY ${order} LIMIT 1) IS NOT NULL`;

const HAS_UNENDED = `SELECT ${[
  firstOf('waiting', 'priority, seq'),
  firstOf('active', 'locked_until_ms'),
  firstOf('delayed', 'process_at_ms'),
].join(' OR ')} AS found`;

/** Resolves to whether any job waits, is delayed, or is being delivered. */
export async function hasUnendedJobsIn(pool: Pick<PgPool, 'query'>, queue: string): Promise<boolean> {
  const { rows } = await pool.query<{ found: boolean }>(HAS_UNENDED, [queue]);
  return rows[0]?.found === true;
}

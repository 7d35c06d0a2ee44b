import type { PgPool } from 'bullmq';
import { FOR_METRICS } from '../ended-statements.js';

/** Reads the oldest waiting jobs. On PostgreSQL, BullMQ reads the newest first, whatever order is requested. */
const OLDEST_WAITING = `${FOR_METRICS} SELECT min(added_at_ms) AS added FROM (
  (SELECT added_at_ms, attempts_started FROM job
    WHERE queue = $1 AND state = 'waiting' AND priority = 0 ORDER BY seq LIMIT 100)
  UNION ALL
  (SELECT added_at_ms, attempts_started FROM job
    WHERE queue = $1 AND state = 'waiting' AND priority > 0 ORDER BY priority, seq LIMIT 100)
) AS heads WHERE attempts_started = 0`;

interface Head {
  /** A bigint as drivers return it; `null` if there is no such job. */
  added: string | number | bigint | null;
}

/**
 * Resolves to when the job was added that has waited longest for its first attempt, in milliseconds since the epoch.
 */
export async function oldestWaitingIn(
  pool: Pick<PgPool, 'query'>,
  queue: string,
): Promise<number | undefined> {
  const { rows } = await pool.query<Head>(OLDEST_WAITING, [queue]);
  const added = rows[0]?.added ?? undefined;
  return added === undefined ? undefined : Number(added);
}

import { DEFAULT_SCHEMA, type PgPool, quoteSchemaName } from 'bullmq';

/**
 * Milliseconds that a lock may end in the future, unless the locks of the checking worker last longer. Workers of other
 * processes may have longer locks than the checking worker.
 */
const LEAST_LIMIT = 300_000;

const SCHEMA = quoteSchemaName(DEFAULT_SCHEMA);

/** $1 queue, $2 the time of this process, $3 milliseconds that a lock may end in the future */
const CORRECT = `
  WITH latest AS (
    SELECT greatest((extract(epoch FROM clock_timestamp()) * 1000)::bigint, $2::bigint) + $3::bigint AS ms
  ), locks AS (
    UPDATE ${SCHEMA}.job SET locked_until_ms = ms FROM latest
    WHERE queue = $1 AND state = 'active' AND locked_until_ms > ms
  )
  DELETE FROM ${SCHEMA}.meta USING latest WHERE queue = $1 AND field = 'stalled-check' AND value::bigint > ms`;

/** For a database that nobody else has open. */
const RELEASE = `
  WITH checks AS (DELETE FROM ${SCHEMA}.meta WHERE field = 'stalled-check')
  UPDATE ${SCHEMA}.job SET locked_until_ms = 0, stalled_marked = true WHERE state = 'active'`;

/**
 * Corrects times written by workers whose clocks were ahead. BullMQ compares these times with the clock of another
 * worker: until that clock has caught up, nobody would check for stalled jobs, or take them.
 *
 * @param lockDuration of the checking worker, in milliseconds
 */
export async function correctAheadLocks(
  pool: Pick<PgPool, 'query'>,
  queue: string,
  lockDuration: number,
): Promise<void> {
  await pool.query(CORRECT, [queue, Date.now(), Math.max(lockDuration, LEAST_LIMIT)]);
}

/** Makes the first check for stalled jobs find all active ones, since their workers are gone. */
export async function releaseLocks(pool: Pick<PgPool, 'query'>): Promise<void> {
  await pool.query(RELEASE);
}

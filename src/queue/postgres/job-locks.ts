import { DEFAULT_SCHEMA, type PgPool, quoteSchemaName } from 'bullmq';

/**
 * How far ahead a lock may be, in milliseconds, unless those of the worker that looks are longer. Workers of other
 * processes may have longer locks than that one.
 */
const LEAST_LIMIT = 300_000;

const SCHEMA = quoteSchemaName(DEFAULT_SCHEMA);

/** $1 queue, $2 the time of this process, $3 how far ahead a lock may be */
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
 * Corrects what workers have written whose clocks were ahead. BullMQ compares it with the clock of another worker: until
 * that has caught up, nobody would look for jobs whose worker crashed, or take them.
 *
 * @param lockDuration of the worker that looks, in milliseconds
 */
export async function correctAheadLocks(
  pool: Pick<PgPool, 'query'>,
  queue: string,
  lockDuration: number,
): Promise<void> {
  await pool.query(CORRECT, [queue, Date.now(), Math.max(lockDuration, LEAST_LIMIT)]);
}

/** Makes the first look for jobs whose worker crashed find all that were in hand: their workers are gone. */
export async function releaseLocks(pool: Pick<PgPool, 'query'>): Promise<void> {
  await pool.query(RELEASE);
}

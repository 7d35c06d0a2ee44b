/** Matches BullMQ's statement that finds the jobs whose worker crashed. */
const STALLED_CHECK = /^SELECT id FROM move_stalled_jobs_to_wait\(\$1, \$2, \$3, \$4\) AS t\(id\);\s*$/m;

/** Selects the active jobs, of which BullMQ has an index. */
const ACTIVE = `queue = $1 AND state = 'active' AND EXISTS (SELECT 1 FROM due)`;

/**
 * The replacement. $1 queue, $2 how often a job may stall, $3 the time, $4 milliseconds between two checks. A job that
 * is locked by a transaction of its worker has not stalled, and is skipped.
 */
const OF_ACTIVE_JOBS = `WITH due AS (
  INSERT INTO meta (queue, field, value) VALUES ($1, 'stalled-check', $3::bigint::text)
  ON CONFLICT (queue, field) DO UPDATE SET value = EXCLUDED.value WHERE $3::bigint >= meta.value::bigint + $4::bigint
  RETURNING 1
), stalled AS (
  UPDATE job SET state = 'waiting', lock_token = NULL, locked_until_ms = NULL, stalled_marked = false,
    stalled_count = stalled_count + 1, seq = nextval('job_seq'),
    deferred_failure = CASE WHEN stalled_count >= $2::integer AND NOT EXISTS (
      SELECT 1 FROM scheduler WHERE scheduler.queue = $1 AND scheduler.scheduler_id = job.scheduler_id
    ) THEN 'job stalled more than allowable limit' ELSE deferred_failure END
  WHERE queue = $1 AND id = ANY (ARRAY(
    SELECT id FROM job WHERE ${ACTIVE} AND stalled_marked AND locked_until_ms < $3::bigint FOR UPDATE SKIP LOCKED
  ))
  RETURNING id
), marked AS (
  UPDATE job SET stalled_marked = true WHERE queue = $1 AND id = ANY (ARRAY(
    SELECT id FROM job WHERE ${ACTIVE} AND NOT stalled_marked FOR NO KEY UPDATE SKIP LOCKED
  ))
)
SELECT id, publish_event($1, 'stalled', jsonb_build_object('jobId', id)), pg_notify('bullmq_jobs', $1) FROM stalled`;

/**
 * Replaces BullMQ's check for stalled jobs. Every few seconds, a worker marks the active jobs, and puts back those that
 * the previous check marked and whose lock has expired. BullMQ also removes older marks from all jobs: it reads the
 * whole table for that, and meanwhile the workers of the jobs that it has marked have to wait. The replacement leaves
 * these marks. A mark on a job that was put back only counts once the job is active again and its lock has expired.
 */
export function checkingActiveJobs(text: string): string {
  return text.includes('move_stalled_jobs_to_wait') && STALLED_CHECK.test(text) ? OF_ACTIVE_JOBS : text;
}

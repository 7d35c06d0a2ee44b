/** Matches BullMQ's calls that complete a job, up to $7: the seconds for which completed jobs are kept. */
const COMPLETING = /(move_to_completed(?:_fetch)?\(\s*\$1, \$2, \$3, \$4::jsonb, \$5, \$6, )\$7,/;

/** The given age, or a higher one at which only some of the older jobs are removed. $5 is the time, in milliseconds. */
const AGE = `CASE WHEN $7::bigint >= 0 THEN greatest($7::bigint, (
    SELECT ($5::bigint - finished_at_ms) / 1000 - 1 FROM job WHERE queue = $1 AND state = 'completed'
    ORDER BY finished_at_ms LIMIT 1
  )) ELSE $7::bigint END`;

/**
 * Replaces a statement that completes a job, which removes all jobs that were completed long enough ago. After a burst
 * and a few quiet minutes, these may be millions: all workers would wait, and with a `statement_timeout` no job could
 * be completed any more, so that all would be delivered again. The replacement only removes jobs that were completed
 * within two seconds of the oldest one.
 */
export function removingFew(text: string): string {
  return text.replace(COMPLETING, `$1${AGE.replaceAll('$', '$$$$')},`);
}

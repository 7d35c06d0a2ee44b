/** BullMQ's calls that complete a job, up to the parameter that says for how many seconds such jobs are kept: $7. */
const COMPLETING = /(move_to_completed(?:_fetch)?\(\s*\$1, \$2, \$3, \$4::jsonb, \$5, \$6, )\$7,/;

/** The same age, or one at which a part of those that are older is removed: $5 is the time, in milliseconds. */
const AGE = `CASE WHEN $7::bigint >= 0 THEN greatest($7::bigint, (
    SELECT ($5::bigint - finished_at_ms) / 1000 - 1 FROM job WHERE queue = $1 AND state = 'completed'
    ORDER BY finished_at_ms LIMIT 1
  )) ELSE $7::bigint END`;

/**
 * The end of a job removes all jobs that have been completed for long enough. After a burst and a few quiet minutes that may
 * be millions: all workers would wait for it, and with a `statement_timeout` no job could be completed any more, so that all
 * were delivered again. So each removes what was completed within two seconds, from the oldest one on.
 */
export function removingFew(text: string): string {
  return text.replace(COMPLETING, `$1${AGE.replaceAll('$', '$$$$')},`);
}

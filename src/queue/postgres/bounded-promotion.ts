/**
 * BullMQ's functions that promote all due delayed jobs and then take a job, each with its parameters for the duration
 * of the lock and for the current time.
 */
const TAKING: readonly (readonly [name: string, lock: string, now: string])[] = [
  ['move_to_active', '$3', '$4'],
  ['move_to_completed_fetch', '$9', '$10'],
  ['move_to_failed_fetch', '$10', '$11'],
];

/** Maximum number of jobs that one of these statements promotes. */
const MOST = 100;

/**
 * Replaces a statement that takes a job, so that it promotes at most `MOST` jobs. If more are due, the statement runs
 * with an earlier time, and with a lock that is longer by the difference. `DueJobs` promotes the others in transactions
 * for which the worker waits one at a time. The earlier time also becomes the `processedOn` of the job.
 */
export function promotingFew(text: string): string {
  for (const [name, lock, now] of TAKING) {
    const call = new RegExp(`^SELECT \\* FROM ${name}\\(([^)]*)\\);\\s*$`, 'm').exec(text);
    if (call === null) continue;
    const parameters = (call[1] ?? '').split(',').map((parameter) => parameter.trim());
    const args = parameters.map((parameter) =>
      parameter === now
        ? 'due.ms'
        : parameter === lock
          ? `${lock}::bigint + ${now}::bigint - due.ms`
          : parameter,
    );
    return `SELECT taken.* FROM (SELECT least(${now}::bigint, (
      SELECT process_at_ms - 1 FROM job WHERE queue = $1 AND state = 'delayed' AND process_at_ms <= ${now}::bigint
      ORDER BY process_at_ms OFFSET ${MOST} LIMIT 1
    )) AS ms) AS due, LATERAL ${name}(${args.join(', ')}) AS taken`;
  }
  return text;
}

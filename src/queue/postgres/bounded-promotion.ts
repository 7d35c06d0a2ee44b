/**
 * BullMQ's statements that take a job, and promote all delayed jobs that are due before that: the place of the time among
 * their parameters, and of how long the job is locked.
 */
const TAKING: readonly (readonly [name: string, lock: string, now: string])[] = [
  ['move_to_active', '$3', '$4'],
  ['move_to_completed_fetch', '$9', '$10'],
  ['move_to_failed_fetch', '$10', '$11'],
];

/** Jobs that one of them promotes at most. */
const MOST = 100;

/**
 * What is run in their place: by an earlier time, where more are due, and a lock that is longer by as much. The others are
 * promoted by `DueJobs`, for whose transactions the worker waits one at a time. The time also becomes the job's
 * `processedOn`, which is too early then.
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

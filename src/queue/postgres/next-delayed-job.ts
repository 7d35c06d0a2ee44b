/** When the next delayed job of the queue $1 is due. In this form the index is always used. */
const NEXT_DELAY = `(
  SELECT process_at_ms FROM job WHERE queue = $1 AND state = 'delayed' ORDER BY process_at_ms LIMIT 1
) AS next_delay`;

/** BullMQ's statements that ask for it, and what is asked in their place. */
const REPLACEMENTS: readonly (readonly [last: RegExp, statement: string])[] = [
  [
    /^SELECT rate_limit_ttl, next_delay FROM next_signal\(\$1, \$2, \$3\);\s*$/m,
    `SELECT rate_limit_effective($1, $2, $3) AS rate_limit_ttl, ${NEXT_DELAY}`,
  ],
  [/^SELECT next_delay\(\$1\) AS next_delay;\s*$/m, `SELECT ${NEXT_DELAY}`],
];

/**
 * A worker that finds nothing to do asks when the next delayed job is due. BullMQ takes the minimum of a column for
 * that. Until PostgreSQL's statistics know how many jobs are delayed, it then reads all of them, each time: thousands
 * when a receiver has just gone down. So these statements are replaced. All others are kept as they are, also if a
 * later version of BullMQ words these differently.
 */
export function findingNextDelayedJob(text: string): string {
  if (!text.includes('next_delay')) return text;
  return REPLACEMENTS.find(([last]) => last.test(text))?.[1] ?? text;
}

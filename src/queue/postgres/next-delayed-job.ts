/** Matches BullMQ's statement that asks when the next delayed job is due. */
const NEXT_SIGNAL = /^SELECT rate_limit_ttl, next_delay FROM next_signal\(\$1, \$2, \$3\);\s*$/m;

/** The replacement, which always uses the index. $1 is the queue. */
const BY_INDEX = `SELECT rate_limit_effective($1, $2, $3) AS rate_limit_ttl, (
  SELECT process_at_ms FROM job WHERE queue = $1 AND state = 'delayed' ORDER BY process_at_ms LIMIT 1
) AS next_delay`;

/**
 * Replaces the statement with which an idle worker asks when the next delayed job is due. BullMQ takes the minimum of a
 * column for that. Until PostgreSQL's statistics know how many jobs are delayed, it then reads all of them each time:
 * thousands when a receiver has just gone down.
 */
export function findingNextDelayedJob(text: string): string {
  return text.includes('next_signal') && NEXT_SIGNAL.test(text) ? BY_INDEX : text;
}

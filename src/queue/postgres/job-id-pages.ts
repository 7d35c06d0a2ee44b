import { DEFAULT_SCHEMA, type PgPool, quoteSchemaName } from 'bullmq';

/** Jobs that one query reads. */
const PAGE = 1_000;
/** The largest `bigint` of PostgreSQL. */
const LAST = '9223372036854775807';

/** Condition for the jobs of each state, and the indexed column by which BullMQ sorts them, before `seq`. */
const STATES = {
  waiting: { where: `state = 'waiting' AND priority = 0`, column: 'priority' },
  prioritized: { where: `state = 'waiting' AND priority > 0`, column: 'priority' },
  active: { where: `state = 'active'`, column: 'priority' },
  delayed: { where: `state = 'delayed'`, column: 'process_at_ms' },
  failed: { where: `state = 'failed'`, column: 'finished_at_ms' },
} as const;

/**
 * $1 queue, $2 and $3 where the previous page ended, $4 number of jobs to read, $5 possible endings of the ids of one
 * destination's jobs, or null for all jobs. No two jobs have the same `seq`.
 */
function selectPage({ where, column }: (typeof STATES)[keyof typeof STATES]): string {
  return `
    WITH page AS MATERIALIZED (
      SELECT id, ${column} AS place, seq FROM ${quoteSchemaName(DEFAULT_SCHEMA)}.job
      WHERE queue = $1 AND ${where} AND (${column}, seq) < ($2::bigint, $3::bigint)
      ORDER BY ${column} DESC, seq DESC LIMIT $4
    ), meant AS (
      SELECT * FROM page WHERE $5::text[] IS NULL OR id !~ '-d[0-9a-f]{8}$' OR right(id, 10) = ANY ($5)
    )
    SELECT
      (SELECT count(*)::int FROM page) AS read,
      (SELECT json_build_array(place::text, seq::text)::text FROM page ORDER BY place, seq LIMIT 1) AS last,
      (SELECT json_agg(id ORDER BY place DESC, seq DESC)::text FROM meant) AS ids`;
}

interface Row {
  read: number;
  last: string | null;
  ids: string | null;
}

interface JobIdsToRead {
  queue: string;
  state: keyof typeof STATES;
  /** Possible endings of ids. @default all ids */
  suffixes: readonly string[] | undefined;
  /** The indexed column and the `seq` of the job before the first one. @default the newest job is the first */
  after: readonly [column: string, seq: string] | undefined;
}

/** Yields the ids of the jobs in one state, newest first, in pages: there may be a million jobs. */
export async function* jobIdPages(
  pool: Pick<PgPool, 'query'>,
  { queue, state, suffixes, after = [LAST, LAST] }: JobIdsToRead,
): AsyncGenerator<string[], void> {
  const select = selectPage(STATES[state]);
  let last: readonly string[] = after;
  for (let read = PAGE; read === PAGE;) {
    const { rows } = await pool.query<Row>(select, [queue, ...last, PAGE, suffixes]);
    const [row] = rows;
    if (row?.last == null) return;
    ({ read } = row);
    last = JSON.parse(row.last) as string[];
    yield row.ids === null ? [] : (JSON.parse(row.ids) as string[]);
  }
}

import { DEFAULT_SCHEMA, type PgPool, quoteSchemaName } from 'bullmq';

/** Jobs that one transaction promotes, as BullMQ does on Redis. */
const AT_ONCE = 1_000;
/** How often to look for them, in milliseconds: while somebody looks, few are due at a time. */
const INTERVAL = 1_000;

const SCHEMA = quoteSchemaName(DEFAULT_SCHEMA);

/** $1 queue, $2 the time */
const PROMOTE = `
  WITH promoted AS (
    UPDATE ${SCHEMA}.job SET state = 'waiting', delay_ms = 0
    WHERE queue = $1 AND id = ANY (ARRAY(
      SELECT id FROM ${SCHEMA}.job WHERE queue = $1 AND state = 'delayed' AND process_at_ms <= $2::bigint
      ORDER BY process_at_ms LIMIT ${AT_ONCE} FOR UPDATE SKIP LOCKED
    ))
    RETURNING id
  )
  SELECT count(${SCHEMA}.publish_event($1, 'waiting', jsonb_build_object('jobId', id, 'prev', 'delayed')))::integer
    AS promoted FROM promoted`;

/**
 * Promotes delayed jobs that are due. BullMQ does so whenever it takes a job, all of them in that transaction. After an
 * outage there may be hundreds of thousands: all others would wait for that, and with a `statement_timeout` it would be
 * cancelled and start over for ever. So BullMQ promotes few, and the others are promoted here, some at a time: the first of
 * them before a job is taken, the rest meanwhile.
 */
export class DueJobs {
  private first: Promise<boolean> | undefined;
  private isPromoting = false;
  private hasFailed = false;
  /** When that last ended, by `performance.now()`. */
  private promotedAt = -Infinity;

  constructor(
    private readonly connection: { readonly pool: Pick<PgPool, 'query'> },
    private readonly queue: string,
  ) {}

  /** What has to be waited for before a job is taken; `undefined` for nothing. Never rejects. */
  promote(): Promise<unknown> | undefined {
    if (!this.isPromoting && performance.now() - this.promotedAt >= INTERVAL) {
      this.isPromoting = true;
      this.first = this.promoteSome();
      void this.promoteRest(this.first);
    }
    return this.first;
  }

  /** A worker found no job although one is due: there were more of that time than BullMQ promotes. */
  overlooked(): void {
    if (!this.hasFailed) this.promotedAt = -Infinity;
  }

  private async promoteRest(first: Promise<boolean>): Promise<void> {
    let isMore = await first;
    this.first = undefined;
    while (isMore) isMore = await this.promoteSome();
    this.isPromoting = false;
    this.promotedAt = performance.now();
  }

  /** Resolves to whether there may be more. */
  private async promoteSome(): Promise<boolean> {
    try {
      const { rows } = await this.connection.pool.query<{ promoted: number }>(PROMOTE, [
        this.queue,
        Date.now(),
      ]);
      this.hasFailed = false;
      return rows[0]?.promoted === AT_ONCE;
    } catch {
      this.hasFailed = true;
      // Where that fails, so does the look itself, which is reported.
      return false;
    }
  }
}

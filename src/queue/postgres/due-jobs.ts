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
 * cancelled and start over for ever. So most are promoted beforehand, some at a time.
 */
export class DueJobs {
  private promoting: Promise<void> | undefined;
  /** When that last ended, by `performance.now()`. */
  private promotedAt = -Infinity;

  constructor(
    private readonly connection: { readonly pool: Pick<PgPool, 'query'> },
    private readonly queue: string,
  ) {}

  /** What has to be waited for before a job is taken; `undefined` for nothing. Never rejects. */
  promote(): Promise<void> | undefined {
    if (this.promoting === undefined && performance.now() - this.promotedAt >= INTERVAL) {
      // Where that fails, so does the look itself, which is reported.
      this.promoting = this.promoteAll()
        .catch(() => undefined)
        .finally(() => {
          this.promoting = undefined;
          this.promotedAt = performance.now();
        });
    }
    return this.promoting;
  }

  private async promoteAll(): Promise<void> {
    let promoted = AT_ONCE;
    while (promoted === AT_ONCE) {
      const { rows } = await this.connection.pool.query<{ promoted: number }>(PROMOTE, [
        this.queue,
        Date.now(),
      ]);
      promoted = rows[0]?.promoted ?? 0;
    }
  }
}

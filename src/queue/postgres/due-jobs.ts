import { setTimeout as pause } from 'node:timers/promises';
import { DEFAULT_SCHEMA, type PgPool, quoteSchemaName } from 'bullmq';

/** Jobs that one transaction promotes. A worker that looks meanwhile waits for it. */
const AT_ONCE = 200;
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

/** There may be more, or there are none, or it has failed. */
type Promoted = 'some' | 'all' | 'none';

/**
 * Promotes delayed jobs that are due. BullMQ does so whenever it takes a job, all of them in that transaction. After an
 * outage there may be hundreds of thousands: all others would wait for that, and with a `statement_timeout` it would be
 * cancelled and start over for ever. So BullMQ promotes few, and the others are promoted here, some at a time: the first of
 * them before a job is taken, the rest meanwhile.
 */
export class DueJobs {
  private first: Promise<Promoted> | undefined;
  private isPromoting = false;
  private hasFailed = false;
  private isStopped = false;
  /** When that last ended, by `performance.now()`. */
  private promotedAt = -Infinity;

  constructor(
    private readonly connection: { readonly pool: Pick<PgPool, 'query'> },
    private readonly queue: string,
  ) {}

  /** What has to be waited for before a job is taken; `undefined` for nothing. Never rejects. */
  promote(): Promise<unknown> | undefined {
    this.isStopped = false;
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

  /** Nobody looks for jobs for the time being. */
  stop(): void {
    this.isStopped = true;
  }

  private async promoteRest(first: Promise<Promoted>): Promise<void> {
    let promoted = await first;
    this.first = undefined;
    const isMore = promoted === 'some';
    // Also after a failure, then: a worker that has a job in hand for long does not ask again.
    while (isMore && promoted !== 'all' && !this.isStopped) {
      if (promoted === 'none') await pause(INTERVAL, undefined, { ref: false });
      promoted = await this.promoteSome();
    }
    this.isPromoting = false;
    this.promotedAt = performance.now();
  }

  private async promoteSome(): Promise<Promoted> {
    try {
      const { rows } = await this.connection.pool.query<{ promoted: number }>(PROMOTE, [
        this.queue,
        Date.now(),
      ]);
      this.hasFailed = false;
      return rows[0]?.promoted === AT_ONCE ? 'some' : 'all';
    } catch {
      this.hasFailed = true;
      // Where that fails, so does the look itself, which is reported.
      return 'none';
    }
  }
}

import { setTimeout as pause } from 'node:timers/promises';
import { DEFAULT_SCHEMA, type PgPool, quoteSchemaName } from 'bullmq';

/** Maximum number of jobs that one transaction promotes. A worker that looks for a job meanwhile waits for it. */
const AT_ONCE = 200;
/** Milliseconds between two promotions. While a worker looks for jobs, few become due in that time. */
const INTERVAL = 1_000;

const SCHEMA = quoteSchemaName(DEFAULT_SCHEMA);

/** $1 queue, $2 the current time */
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

/** Result of a promotion: `some` if more jobs may be due, `all` if no more are, `none` if it failed. */
type Promoted = 'some' | 'all' | 'none';

/**
 * Promotes delayed jobs that are due. BullMQ promotes all of them in the transaction in which it takes a job. After an
 * outage, there may be hundreds of thousands: all other workers would wait for that, and with a `statement_timeout` the
 * transaction would be cancelled and start over for ever. So BullMQ promotes only a few (see `promotingFew`), and this
 * class promotes the others, `AT_ONCE` at a time: the first of them before a job is taken, the rest meanwhile.
 */
export class DueJobs {
  private first: Promise<Promoted> | undefined;
  private isPromoting = false;
  private hasFailed = false;
  private isStopped = false;
  /** Time at which the last promotion ended, by `performance.now()`. */
  private promotedAt = -Infinity;

  constructor(
    private readonly connection: { readonly pool: Pick<PgPool, 'query'> },
    private readonly queue: string,
  ) {}

  /** Returns a promise to await before a job is taken, if there is one. It never rejects. */
  promote(): Promise<unknown> | undefined {
    this.isStopped = false;
    if (!this.isPromoting && performance.now() - this.promotedAt >= INTERVAL) {
      this.isPromoting = true;
      this.first = this.promoteSome();
      void this.promoteRest(this.first);
    }
    return this.first;
  }

  /**
   * Makes the next `promote` start at once. Called when a worker found no job although one is due: more jobs are due at
   * the same time than BullMQ promotes.
   */
  overlooked(): void {
    if (!this.hasFailed) this.promotedAt = -Infinity;
  }

  /** Ends the promotion until a worker looks for a job again. */
  stop(): void {
    this.isStopped = true;
  }

  private async promoteRest(first: Promise<Promoted>): Promise<void> {
    let promoted = await first;
    this.first = undefined;
    const isMore = promoted === 'some';
    // Continues even after a failure: a worker that is busy with a long job does not ask again.
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
      // If this fails, so does the look for a job itself, which is reported.
      return 'none';
    }
  }
}

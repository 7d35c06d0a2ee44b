import { DEFAULT_SCHEMA } from 'bullmq';
import { EmbeddedQueueUpkeepError } from '../../errors/embedded-queue-upkeep.error.js';
import type { PGlitePool } from './pglite-pool.js';

/** Statements between two looks at how much was written. */
const STATEMENTS_PER_CHECK = 50;

/** Bytes of write-ahead log that make it worth tidying up: about 2,000 small jobs from add to removal. */
const BYTES_PER_ROUND = 8 * 1024 * 1024;

const POSITION = `SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint AS position`;

/** Every add of several jobs makes two temporary tables, so the catalogs grow as the queue itself does. */
const TABLES = ['job', 'event', 'pg_class', 'pg_attribute', 'pg_type', 'pg_depend', 'pg_index'];

/** What is kept beside the queue. */
const NEIGHBOURS = `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
  WHERE schemaname NOT IN ('pg_catalog', 'information_schema', '${DEFAULT_SCHEMA}')`;

/**
 * What autovacuum and checkpointer do on a server. The embedded database has no processes in the
 * background, so without this every job that was ever done stays in its files.
 *
 * It goes by the log's position, not by a timer or a count of statements: one statement may add one
 * job or a thousand, and an idle queue needs nothing.
 */
export class EmbeddedUpkeep {
  private statements = 0;
  private tidiedAt: bigint | undefined;
  private running = false;
  private failing = false;

  constructor(
    private readonly pool: PGlitePool,
    private readonly onWarning: (warning: EmbeddedQueueUpkeepError) => void,
  ) {}

  /** To be called after each statement; its own do not count. */
  afterStatement(): void {
    if (this.running || this.pool.ended || ++this.statements < STATEMENTS_PER_CHECK) return;
    this.statements = 0;
    this.running = true;
    void this.check()
      .then(
        () => {
          this.failing = false;
        },
        (cause: unknown) => {
          this.warn(cause);
        },
      )
      .finally(() => {
        this.running = false;
      });
  }

  /** Once for as long as it lasts: the next rounds fail for the same reason. */
  private warn(cause: unknown): void {
    if (!this.failing) this.onWarning(new EmbeddedQueueUpkeepError({ cause }));
    this.failing = true;
  }

  private async check(): Promise<void> {
    // The first look of a process always tidies up, or one that is restarted often never would.
    if (this.tidiedAt !== undefined && (await this.position()) - this.tidiedAt < BYTES_PER_ROUND) return;
    const { rows } = await this.pool.query<{ name: string }>(NEIGHBOURS, []);
    const tables = [...TABLES, ...rows.map(({ name }) => name)];
    for (const statement of [...tables.map((table) => `VACUUM ${table}`), 'CHECKPOINT']) {
      // Each is a turn of its own (VACUUM cannot be part of a transaction), so that others get in between.
      if (this.pool.ended) return;
      await this.pool.query(statement);
    }
    if (!this.pool.ended) this.tidiedAt = await this.position();
  }

  private async position(): Promise<bigint> {
    const { rows } = await this.pool.query<{ position: number | bigint }>(POSITION, []);
    return BigInt(rows[0]?.position ?? 0);
  }
}

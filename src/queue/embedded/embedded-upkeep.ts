import { DEFAULT_SCHEMA } from 'bullmq';
import {
  EmbeddedQueueBrokenError,
  EmbeddedQueueUpkeepError,
  sqlStateOf,
} from '../../errors/embedded-queue.errors.js';
import type { PGlitePool } from './pglite-pool.js';

/** Statements between two checks of how much was written. */
const STATEMENTS_PER_CHECK = 50;

/** Bytes of write-ahead log that make maintenance worthwhile: about 2,000 small jobs from add to removal. */
const BYTES_PER_ROUND = 8 * 1024 * 1024;

/**
 * Transactions after which the rows of all tables are frozen. While a table remains unvacuumed, PostgreSQL keeps the
 * outcome of each transaction, at two bits each, and after two billion transactions it accepts no more.
 */
const TRANSACTIONS_PER_FREEZE = 100_000_000;

const POSITION = `SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint AS position`;

/**
 * Tables that each round vacuums. Every add of several jobs creates two temporary tables, so the catalogs grow as fast
 * as the queue itself.
 */
const TABLES = ['job', 'event', 'pg_class', 'pg_attribute', 'pg_type', 'pg_depend', 'pg_index'];

/** Selects the tables beside BullMQ's. */
const NEIGHBOURS = `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
  WHERE schemaname NOT IN ('pg_catalog', 'information_schema', '${DEFAULT_SCHEMA}')`;

const IS_OLD = `SELECT age(datfrozenxid) > ${TRANSACTIONS_PER_FREEZE} AS "isOld" FROM pg_database
  WHERE datname = current_database()`;

const ALL_TABLES = `SELECT oid::regclass::text AS name FROM pg_class WHERE relkind = 'r' AND relpersistence <> 't'`;

/**
 * Does the work of a server's autovacuum and checkpointer. The embedded database has no background processes, so
 * without this every finished job would stay in its files. Maintenance follows the position of the write-ahead log, not
 * a timer or a count of statements: one statement may add one job or a thousand, and an idle queue needs nothing.
 */
export class EmbeddedUpkeep {
  private statements = 0;
  /** Where the log ended when the tables were last vacuumed, and when it was last shortened. */
  private vacuumedAt: bigint | undefined;
  private shortenedAt: bigint | undefined;
  /** What is left to vacuum in the current round. */
  private left = new Set<string>();
  private running = false;
  /** PostgreSQL's codes of the failures in the last round. */
  private failing: ReadonlySet<unknown> = new Set();

  constructor(
    private readonly pool: PGlitePool,
    private readonly onWarning: (warning: EmbeddedQueueUpkeepError) => void,
  ) {}

  /** Call this after each statement. The upkeep's own statements do not count. */
  afterStatement(): void {
    if (this.running || this.pool.ended || ++this.statements < STATEMENTS_PER_CHECK) return;
    this.statements = 0;
    this.running = true;
    void this.check()
      .catch((cause: unknown) => {
        this.warn([cause]);
      })
      .finally(() => {
        this.running = false;
      });
  }

  private async check(): Promise<void> {
    const position = await this.position();
    if (isDue(this.shortenedAt, position)) this.warn(await this.round(isDue(this.vacuumedAt, position)));
  }

  /**
   * Runs a round of maintenance, or what is left of one: on a full disk, many checks may pass before the log can be
   * shortened. Returns the errors of the statements that failed.
   */
  private async round(isNew: boolean): Promise<unknown[]> {
    const causes: unknown[] = [];
    const succeeds = async (statement: string): Promise<boolean> => {
      // Each statement takes a turn of its own (VACUUM cannot run in a transaction), so others can run in between.
      if (this.pool.ended) return false;
      try {
        await this.pool.query(statement);
        return true;
      } catch (cause) {
        causes.push(cause);
        return false;
      }
    };
    if (isNew) this.left = new Set(await this.vacuums());
    // A damaged table must not keep the others from being vacuumed, nor the log from being shortened.
    for (const statement of this.left) if (await succeeds(statement)) this.left.delete(statement);
    if (isNew) this.vacuumedAt = await this.position();
    if (await succeeds('CHECKPOINT')) {
      this.shortenedAt = await this.position();
      this.left.clear();
    }
    return causes;
  }

  /** Reports each code once while rounds keep failing with it, since the next rounds fail for the same reason. */
  private warn(causes: readonly unknown[]): void {
    // A shutdown or a crash closes the database in the middle of a round. A crash is reported as such. The next start
    // begins with a round.
    if (this.pool.ended || causes.some((cause) => cause instanceof EmbeddedQueueBrokenError)) return;
    const codes = new Set<unknown>();
    for (const cause of causes) {
      const code = sqlStateOf(cause);
      if (!codes.has(code) && !this.failing.has(code))
        this.onWarning(new EmbeddedQueueUpkeepError({ cause }));
      codes.add(code);
    }
    this.failing = codes;
  }

  private async vacuums(): Promise<string[]> {
    const { rows } = await this.pool.query<{ isOld: boolean }>(IS_OLD, []);
    if (rows[0]?.isOld === true)
      return (await this.namesOf(ALL_TABLES)).map((table) => `VACUUM (FREEZE) ${table}`);
    return [...TABLES, ...(await this.namesOf(NEIGHBOURS))].map((table) => `VACUUM ${table}`);
  }

  private async namesOf(query: string): Promise<string[]> {
    const { rows } = await this.pool.query<{ name: string }>(query, []);
    return rows.map(({ name }) => name);
  }

  private async position(): Promise<bigint> {
    const { rows } = await this.pool.query<{ position: number | bigint }>(POSITION, []);
    return BigInt(rows[0]?.position ?? 0);
  }
}

/** Whether enough was written since a position. The first check of a process is always due: it may restart often. */
function isDue(since: bigint | undefined, position: bigint): boolean {
  return since === undefined || position - since >= BYTES_PER_ROUND;
}

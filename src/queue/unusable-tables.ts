import { EndedStatementError, EndedStatements } from './ended-statements.js';
import type { LimitedLog, QueueLog } from './limited-log.js';
import { RefusedTableError, RefusedTables } from './refused-tables.js';
import { type FindTables, RemovedOwnTables } from './removed-own-tables.js';
import { RemovedOwnTableError } from './removed-tables.js';

/**
 * Logs what the queue goes on without: tables of this module's own that may not be used, or are missing, and
 * statements of the history and the metrics that the server ends.
 */
export class UnusableTables {
  private readonly refused: RefusedTables;
  private readonly removed: RemovedOwnTables;
  private readonly ended: EndedStatements;

  /** @param lines limits the lines about tables */
  constructor(place: string, logger: QueueLog, lines: LimitedLog, now: () => number) {
    this.refused = new RefusedTables(place, lines);
    this.removed = new RemovedOwnTables(place, lines, now);
    this.ended = new EndedStatements(place, logger, now);
  }

  /** Tables that somebody has removed, with their schema. */
  get missing(): string[] {
    return this.removed.names;
  }

  /** Sets the function that looks for missing tables. */
  findBy(find: FindTables): void {
    this.removed.findBy(find);
  }

  /**
   * Adds a listener that should forget what it remembers of tables, since that may be wrong.
   *
   * @param listener called with tables that are there again, and ever more rarely while their rows may still come; must
   *   not throw
   */
  onFound(listener: (tables: readonly string[]) => void): void {
    this.removed.onFound(listener);
  }

  /** Notes that a statement failed, for whatever reason. */
  failed(error: unknown, statement = ''): void {
    if (error instanceof RefusedTableError) this.refused.add(error, statement);
    else if (error instanceof RemovedOwnTableError) this.removed.add(error);
    else if (error instanceof EndedStatementError) this.ended.add(error, statement);
  }

  /**
   * Notes that a statement was answered.
   *
   * @param askedAt when the statement was sent, by the monotonic clock
   */
  answered(askedAt: number, statement = ''): void {
    this.refused.answered(statement);
    this.removed.answered(statement);
    this.ended.answered(askedAt, statement);
  }

  /** Writes nothing after this. */
  close(): void {
    this.removed.close();
  }
}

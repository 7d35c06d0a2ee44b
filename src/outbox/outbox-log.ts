import { LimitedLog, type QueueLog } from '../queue/limited-log.js';
import { failureOf } from '../queue/queue-failure.js';
import { AnalyticsError } from '../errors/analytics.error.js';
import { codesOf } from './database-error.js';

/** Writes one line when the outbox cannot be read, one when it can again, and one for rows set aside. */
export class OutboxLog {
  private downSince: number | undefined;
  private readonly lines: LimitedLog;

  constructor(
    logger: QueueLog,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.lines = new LimitedLog(logger, now);
  }

  down(error: unknown): void {
    if (this.downSince !== undefined) return;
    this.downSince = this.now();
    if (!this.lines.hasRoomFor(2)) return;
    this.lines.warn(
      `The outbox cannot be read: ${reasonOf(error)}. Its messages stay in the table, and are moved to the ` +
        'queue when it can be read again. Check `outbox.connection` and the server.',
    );
  }

  up(): void {
    if (this.downSince === undefined) return;
    const seconds = Math.round((this.now() - this.downSince) / 1000);
    this.downSince = undefined;
    if (this.lines.hasRoomFor(1)) this.lines.log(`The outbox can be read again after ${seconds} s.`);
  }

  setAside(table: string, row: number, problem: string): void {
    if (!this.lines.hasRoomFor(1)) return;
    this.lines.warn(
      `The row ${row} of ${table} cannot be moved to the queue and is set aside: ${problem}. Correct it, then ` +
        "set its `due_at` to '-infinity', or delete it.",
    );
  }
}

/** Messages of drivers name hosts and users, so that only their codes are logged. */
function reasonOf(error: unknown): string {
  if (error instanceof AnalyticsError) return error.message.replace(/\.$/, '');
  return failureOf(error)?.reason ?? codesOf(error)[0] ?? 'the database answers with an error';
}

import { LimitedLog, type QueueLog } from '../queue/limited-log.js';
import { failureOf, isConnectionFailure } from '../queue/queue-failure.js';
import { AnalyticsError } from '../errors/analytics.error.js';
import { countOf } from '../shared/count-of.js';
import { codesOf, INSUFFICIENT_PRIVILEGE, RemovalError } from './database-error.js';

const MISSING_PRIVILEGE = 'its user needs SELECT, UPDATE and DELETE on its table, and USAGE on the schema';

/** Minimum time between two lines about rows whose tenant is not known, in milliseconds. */
const TENANT_INTERVAL = 60_000;

/** Writes a line when the outbox cannot be used or can be used again, and when rows are set aside or have to wait. */
export class OutboxLog {
  private outage: { since: number; isOfRemoval: boolean } | undefined;
  private readonly lines: LimitedLog;
  private hasToldOfOthers = false;
  private toldOfTenantAt = -Infinity;

  constructor(
    logger: QueueLog,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.lines = new LimitedLog(logger, now);
  }

  down(error: unknown): void {
    // An unreachable database says nothing about whether rows can be deleted.
    const isOfRemoval = error instanceof RemovalError && !isConnectionFailure(error.cause);
    if (this.outage?.isOfRemoval === isOfRemoval) return;
    this.outage = { since: this.now(), isOfRemoval };
    if (!this.lines.hasRoomFor(2)) return;
    const reason = reasonOf(error instanceof RemovalError ? error.cause : error);
    this.lines.warn(
      isOfRemoval
        ? `Rows of the outbox that are in the queue cannot be deleted: ${reason}. No other rows are moved until ` +
            'these are deleted; otherwise all of them would be sent again and again. Allow the user of ' +
            '`outbox.connection` to delete them.'
        : `The outbox cannot be read: ${reason}. Its messages stay in the table, and are moved to the ` +
            'queue when it can be read again. Check `outbox.connection` and the server.',
    );
  }

  up(): void {
    if (this.outage === undefined) return;
    const { since, isOfRemoval } = this.outage;
    const seconds = Math.round((this.now() - since) / 1000);
    this.outage = undefined;
    if (!this.lines.hasRoomFor(1)) return;
    this.lines.log(
      isOfRemoval
        ? `Rows of the outbox can be deleted again after ${seconds} s.`
        : `The outbox can be read again after ${seconds} s.`,
    );
  }

  /** Reports rows that were moved but are still there, although the database reported no error when deleting them. */
  kept(table: string, count: number): void {
    // Leaves room for two lines: an outage and its end.
    if (!this.lines.hasRoomFor(3)) return;
    this.lines.warn(
      `${countOf(count, 'row')} of ${table} ${count === 1 ? 'is' : 'are'} in the queue, but a trigger or row security keeps such rows from being deleted. ` +
        'They are set aside, so that they are not sent again. Allow the user of `outbox.connection` to delete ' +
        'rows, then delete these.',
    );
  }

  /** Reports rows of another application, which are left to it and so are delayed. One line is enough. */
  ofOtherApplication(table: string): void {
    if (this.hasToldOfOthers || !this.lines.hasRoomFor(3)) return;
    this.hasToldOfOthers = true;
    this.lines.warn(
      `${table} has rows of another application, with other write keys. They are left to its workers; rows that ` +
        'none of them takes within `unknownJobTimeout` are set aside. Give each application an `outbox.table` of its own. ' +
        'If the rows belong to this application, and its write keys have changed, remove `marks` from their `message` ' +
        'and make them due.',
    );
  }

  /** Reports rows whose tenant is not known. One line a minute is enough, since each row is read again and again. */
  ofUnknownTenant(table: string, row: number, problem: string): void {
    const now = this.now();
    if (now - this.toldOfTenantAt < TENANT_INTERVAL || !this.lines.hasRoomFor(3)) return;
    this.toldOfTenantAt = now;
    this.lines.warn(
      `Rows of ${table} are waiting, for example row ${row}: ${problem}. Each is read again within five minutes, and moved once the function returns.`,
    );
  }

  setAside(table: string, row: number, problem: string): void {
    if (!this.lines.hasRoomFor(1)) return;
    this.lines.warn(
      `The row ${row} of ${table} cannot be moved to the queue and is set aside: ${problem}. Correct it, then ` +
        "set its `due_at` to '-infinity', or delete it.",
    );
  }
}

/** Returns the reason to log. The messages of drivers name hosts and users, so only their codes are logged. */
function reasonOf(error: unknown): string {
  if (error instanceof AnalyticsError) return error.message.replace(/\.$/, '');
  const [code] = codesOf(error);
  if (code === INSUFFICIENT_PRIVILEGE) return `${MISSING_PRIVILEGE}, ${code}`;
  return failureOf(error)?.reason ?? code ?? 'the database returned an error';
}

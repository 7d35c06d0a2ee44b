import { types } from 'node:util';
import type { LimitedLog } from './limited-log.js';
import { LOOK, ownTableNamed, ownTablesIn } from './removed-tables.js';

/** PostgreSQL's code for a missing right. */
export const MISSING_RIGHT = '42501';

/** What a server refused. */
interface Refusal {
  /** The table or the schema, in words. */
  subject: string;
  /** What to do about it. */
  remedy: string;
  /** Tables that the statement would have created or changed. */
  changed: readonly string[];
}

/** The user may not use a table of this module's own. The queue itself goes on without it. */
export class RefusedTableError extends Error {
  readonly code = MISSING_RIGHT;

  constructor(
    readonly refusal: Refusal,
    options: ErrorOptions,
  ) {
    super(`the user may not use ${refusal.subject}: ${refusal.remedy}`, options);
  }
}

/** Matches statements that create or change tables, which not even all rights on them allow. */
const CHANGES = /\b(?:CREATE|ALTER) /;

/** Returns a `RefusedTableError` if the server refused the use of a table of this module's own, otherwise `error`. */
export function explainRefusal(error: unknown, statement = ''): unknown {
  if (!types.isNativeError(error) || !('code' in error) || error.code !== MISSING_RIGHT) return error;
  const tables = ownTablesIn(statement);
  const [first] = tables;
  if (first === undefined) return error;
  const changed = CHANGES.test(statement) ? tables : [];
  const named = ownTableNamed(error.message, statement);
  if (named === undefined) {
    const [schema] = first.split('.');
    const subject = `the schema \`${schema}\``;
    const remedy = 'grant USAGE and CREATE on it, or start once as the owner of its tables';
    return new RefusedTableError({ subject, remedy, changed }, { cause: error });
  }
  const subject = `the table \`${named}\``;
  const orChange = changed.length > 0 ? ', and start once as its owner if an update has to change it' : '';
  const remedy = `run \`GRANT ALL ON ${named} TO <user>\`${orChange}`;
  return new RefusedTableError({ subject, remedy, changed }, { cause: error });
}

interface RefusedStatement {
  statement: string;
  changed: readonly string[];
}

/** Writes one line when a table may not be used, however often that is tried, and one when it may be used again. */
export class RefusedTables {
  /**
   * Refused statements, by their subject and then by the tables that they would have created or changed. Only the
   * latest of each is kept: an earlier statement may not be tried again for hours.
   */
  private readonly refused = new Map<string, Map<string, RefusedStatement>>();

  constructor(
    private readonly place: string,
    private readonly lines: LimitedLog,
  ) {}

  add({ refusal }: RefusedTableError, statement: string): void {
    const { subject, remedy, changed } = refusal;
    const known = this.refused.get(subject);
    known?.set(changed.join(), { statement, changed });
    if (known !== undefined || !this.lines.hasRoomFor(1)) return;
    this.refused.set(subject, new Map([[changed.join(), { statement, changed }]]));
    this.lines.warn(
      `The user of the queue on ${this.place} may not use ${subject} (${MISSING_RIGHT}): ${remedy}. Until ` +
        'then, operations that need it fail or wait. Everything else goes on.',
    );
  }

  /** Notes that a statement was answered. */
  answered(statement = ''): void {
    for (const [subject, refused] of this.refused) {
      for (const [key, { statement: own, changed }] of refused) {
        // Somebody else may have changed the tables. The refused statement is then not tried again.
        const isUsed = !LOOK.test(statement) && changed.some((table) => statement.includes(table));
        if (own === statement || isUsed) refused.delete(key);
      }
      if (refused.size > 0) continue;
      this.refused.delete(subject);
      const line = `The user of the queue on ${this.place} may use ${subject} again.`;
      if (this.lines.hasRoomFor(1)) this.lines.log(line);
    }
  }
}

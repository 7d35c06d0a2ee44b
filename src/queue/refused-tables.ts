import { types } from 'node:util';
import type { LimitedLog } from './limited-log.js';

/** The code of PostgreSQL for a right that is missing. */
export const MISSING_RIGHT = '42501';

/** The user may not use a table of this module's own. The queue itself goes on without it. */
export class RefusedTableError extends Error {
  readonly code = MISSING_RIGHT;

  constructor(
    /** In words: the table, or the schema. */
    readonly subject: string,
    /** What to do about it. */
    readonly remedy: string,
    options: ErrorOptions,
  ) {
    super(`the user may not use ${subject}: ${remedy}`, options);
  }
}

const TABLES = /\b(nestjs_analytics\w*)\.(\w+)/g;
/** Statements that make or change tables, which not even all rights on them allow. */
const CHANGES = /\b(?:CREATE|ALTER) /;

/** What a server refused, as a `RefusedTableError` if it was the use of a table of this module's own. */
export function explainRefusal(error: unknown, statement = ''): unknown {
  if (!types.isNativeError(error) || !('code' in error) || error.code !== MISSING_RIGHT) return error;
  const tables = [...statement.matchAll(TABLES)];
  const [first] = tables;
  if (first === undefined) return error;
  // The words around the name depend on the language of the server.
  const named = tables.find(([, , table]) => new RegExp(`\\b${table}\\b`).test(error.message));
  if (named === undefined || CHANGES.test(statement)) {
    const remedy = 'grant USAGE and CREATE on it, or start once as the owner of its tables';
    return new RefusedTableError(`the schema \`${first[1]}\``, remedy, { cause: error });
  }
  const remedy = `\`GRANT ALL ON ${named[0]} TO …\` with its name`;
  return new RefusedTableError(`the table \`${named[0]}\``, remedy, { cause: error });
}

/** Writes one line when a table may not be used, however often that is tried, and one when it may. */
export class RefusedTables {
  /** The latest statement that was refused, by what it was refused: others may not be tried again for hours. */
  private readonly refused = new Map<string, string>();

  constructor(
    private readonly place: string,
    private readonly lines: LimitedLog,
  ) {}

  add({ subject, remedy }: RefusedTableError, statement: string): void {
    const isKnown = this.refused.has(subject);
    if (!isKnown && !this.lines.hasRoomFor(1)) return;
    this.refused.set(subject, statement);
    if (isKnown) return;
    this.lines.warn(
      `The user of the queue on ${this.place} may not use ${subject} (${MISSING_RIGHT}): ${remedy}. What is kept ` +
        'there is missing or waits until then. Everything else goes on.',
    );
  }

  /** A statement was answered. */
  answered(statement: string | undefined): void {
    for (const [subject, refused] of this.refused) {
      if (refused !== statement) continue;
      this.refused.delete(subject);
      const line = `The user of the queue on ${this.place} may use ${subject} again.`;
      if (this.lines.hasRoomFor(1)) this.lines.log(line);
    }
  }
}

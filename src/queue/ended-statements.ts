import { types } from 'node:util';
import type { QueueLog } from './limited-log.js';
import { LOOK, OF_HISTORY, ownTablesIn } from './removed-tables.js';

/** Why the server ended a statement: PostgreSQL's code, and words. */
interface End {
  code: string;
  reason: string;
}

/** Reasons after which a statement may succeed when it is tried again. */
export const ENDS: readonly End[] = [
  { code: '40001', reason: 'transactions conflicted with each other' },
  { code: '40P01', reason: 'transactions deadlocked' },
  {
    code: '55P03',
    reason: 'it did not get a lock in time: find out which session holds it, or raise `lock_timeout`',
  },
  {
    code: '57014',
    reason: 'it ended a statement: check what keeps it busy, or raise `statement_timeout`',
  },
];

/** Beginning of the statements that only metrics and health checks need. */
export const FOR_METRICS = '/* metrics */';

/** Work that the queue goes on without. */
type SideWork = 'history' | 'metrics';

const SIDE_WORK: Record<SideWork, { name: string; meanwhile: string }> = {
  history: {
    name: 'the history of deliveries',
    meanwhile: 'Until the server answers, reads, writes and removals there fail or wait.',
  },
  metrics: {
    name: 'the metrics',
    meanwhile: 'Until the server answers, their values are missing or out of date.',
  },
};

/** The server ended a statement of work that the queue goes on without. */
export class EndedStatementError extends Error {
  constructor(
    readonly work: SideWork,
    readonly end: End,
    options: ErrorOptions,
  ) {
    super(`the server ended a statement of ${SIDE_WORK[work].name}: ${end.reason}`, options);
  }
}

/** Returns an `EndedStatementError` if the queue goes on without the ended statement, otherwise `error`. */
export function explainEnd(error: unknown, statement = ''): unknown {
  if (!types.isNativeError(error) || !('code' in error)) return error;
  const end = ENDS.find(({ code }) => code === error.code);
  const work = sideWorkOf(statement);
  if (end === undefined || work === undefined) return error;
  return new EndedStatementError(work, end, { cause: error });
}

function sideWorkOf(statement: string): SideWork | undefined {
  if (statement.startsWith(FOR_METRICS)) return 'metrics';
  const tables = ownTablesIn(statement);
  return tables.length > 0 && tables.every((table) => table.includes(OF_HISTORY)) ? 'history' : undefined;
}

/**
 * Milliseconds without an ended statement after which statements count as answered again. Those of the metrics may come
 * only every other minute, and a server that is too slow for some statements answers others.
 */
const QUIET = 5 * 60_000;

/** Ended statements of one kind of work, which a line has reported. */
interface Incident {
  readonly work: SideWork;
  /** This module's own tables that the latest ended statement needs. Statements of the metrics need none. */
  readonly tables: readonly string[];
  /** When the latest statement was ended, by the monotonic clock. */
  readonly endedAt: number;
}

/** Whether a statement belongs to the work of an incident and, if the incident has tables, uses one of them. */
function isAbout({ work, tables }: Incident, statement: string): boolean {
  if (LOOK.test(statement) || sideWorkOf(statement) !== work) return false;
  return tables.length === 0 || ownTablesIn(statement).some((table) => tables.includes(table));
}

/**
 * Writes one line when statements of side work are ended, however many, and one line when they are answered again.
 * These lines are so few that they do not count toward the limit of lines about the queue itself.
 */
export class EndedStatements {
  private readonly incidents = new Map<SideWork, Incident>();

  constructor(
    private readonly place: string,
    private readonly logger: QueueLog,
    private readonly now: () => number,
  ) {}

  add({ work, end: { code, reason } }: EndedStatementError, statement: string): void {
    const isKnown = this.incidents.has(work);
    this.incidents.set(work, { work, tables: ownTablesIn(statement), endedAt: this.now() });
    if (isKnown) return;
    const { name, meanwhile } = SIDE_WORK[work];
    this.logger.warn(
      `The queue on ${this.place} did not answer a statement of ${name} (${reason}, ${code}). ${meanwhile} Everything ` +
        'else goes on.',
    );
  }

  /**
   * Notes that a statement was answered.
   *
   * @param askedAt when the statement was sent, by the monotonic clock
   */
  answered(askedAt: number, statement: string): void {
    for (const incident of this.incidents.values()) {
      if (askedAt < incident.endedAt + QUIET || !isAbout(incident, statement)) continue;
      this.incidents.delete(incident.work);
      const { name } = SIDE_WORK[incident.work];
      this.logger.log(`The queue on ${this.place} answers statements of ${name} again.`);
    }
  }
}

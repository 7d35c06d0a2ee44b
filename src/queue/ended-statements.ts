import { types } from 'node:util';
import type { LimitedLog } from './limited-log.js';
import { OF_HISTORY, ownTablesIn } from './removed-tables.js';

/** Why the server ended a statement: PostgreSQL's code, and words. */
interface End {
  code: string;
  reason: string;
}

/** After these, a statement may succeed when it is tried again. */
export const ENDS: readonly End[] = [
  { code: '40001', reason: 'transactions conflicted with each other' },
  { code: '40P01', reason: 'transactions deadlocked' },
  { code: '55P03', reason: 'it did not get a lock in time: look for who holds it, or raise `lock_timeout`' },
  {
    code: '57014',
    reason: 'it ended a statement: look for what keeps it busy, or raise `statement_timeout`',
  },
];

/** Begins statements that nothing but metrics and health checks needs. */
export const FOR_METRICS = '/* metrics */';

/** Work that the queue goes on without. */
type SideWork = 'history' | 'metrics';

const SIDE_WORK: Record<SideWork, { name: string; meanwhile: string }> = {
  history: {
    name: 'the history of deliveries',
    meanwhile: 'What was to be read, written or removed there is missing or waits until it answers.',
  },
  metrics: {
    name: 'the metrics',
    meanwhile: 'They lack, or repeat, what was to be counted until it answers.',
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

/** As an `EndedStatementError` if the queue goes on without what the server ended. */
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

/** Writes one line when statements of such work are ended, however often that happens, and one when they are answered. */
export class EndedStatements {
  /** The latest statement that was ended, by its work. Any other may not be tried again for hours. */
  private readonly ended = new Map<SideWork, string>();

  constructor(
    private readonly place: string,
    private readonly lines: LimitedLog,
  ) {}

  add({ work, end: { code, reason } }: EndedStatementError, statement: string): void {
    const isKnown = this.ended.has(work);
    if (!isKnown && !this.lines.hasRoomFor(1)) return;
    this.ended.set(work, statement);
    if (isKnown) return;
    const { name, meanwhile } = SIDE_WORK[work];
    this.lines.warn(
      `The queue on ${this.place} did not answer a statement of ${name} (${reason}, ${code}). ${meanwhile} Everything ` +
        'else goes on.',
    );
  }

  /** A statement was answered. */
  answered(statement: string | undefined): void {
    for (const [work, ended] of this.ended) {
      if (ended !== statement) continue;
      this.ended.delete(work);
      const line = `The queue on ${this.place} answers statements of ${SIDE_WORK[work].name} again.`;
      if (this.lines.hasRoomFor(1)) this.lines.log(line);
    }
  }
}

import { type Clock, SYSTEM_CLOCK } from '../shared/clock.js';
import { LaterLines } from './later-lines.js';

/** Writes the lines about destinations. */
export interface DestinationLogger {
  error(message: string): void;
  warn(message: string): void;
}

/** Maximum number of lines of one kind that are remembered, so that each is written once. */
const MAX_TOLD = 1_000;
/** Maximum number of lines of one kind within a minute. Further lines are summed up at the end of the minute. */
const LINES = 5;
/** Maximum number of distinct lines of one kind that are counted for a summary. */
const MAX_LEFT_OUT = 10_000;
const MINUTE = 60_000;

/** The lines of one kind. */
interface Kind {
  readonly told: Set<string>;
  /** Number of lines written in this minute. */
  written: number;
  /** Lines of this minute that were not written. */
  readonly leftOut: Set<string>;
  /** Set by a summary, until a minute ends in which no line was left out. */
  isSummedUp: boolean;
  /** Whether a minute is running. The first line begins a minute. */
  hasBegun: boolean;
}

/**
 * Logs why destinations get no messages. Thousands of destinations may have the same fault, so only some lines of each
 * kind are written, and then one line a minute that counts the others.
 */
export class DestinationLines {
  private readonly kinds = new Map<string, Kind>();
  private readonly summaries: LaterLines;

  constructor(
    private readonly logger: DestinationLogger,
    clock: Clock = SYSTEM_CLOCK,
  ) {
    this.summaries = new LaterLines(clock);
  }

  /**
   * Writes a line unless it was written before.
   *
   * @param kind the same for lines that differ only in the destination and the reason
   */
  write(level: keyof DestinationLogger, kind: string, line: string): void {
    const { told } = this.ofKind(kind);
    if (told.has(line)) return;
    // Repeating a line after a while does less harm than a set that grows without end.
    if (told.size >= MAX_TOLD) told.clear();
    told.add(line);
    this.writeEach(level, kind, line);
  }

  /** Writes a line about an event, even if the same line was written before. */
  writeEach(level: keyof DestinationLogger, kind: string, line: string): void {
    const lines = this.ofKind(kind);
    if (!lines.hasBegun) this.begin(level, lines);
    if (lines.isSummedUp || lines.written >= LINES) {
      if (lines.leftOut.size < MAX_LEFT_OUT) lines.leftOut.add(line);
      return;
    }
    lines.written++;
    this.logger[level](line);
  }

  /** Writes the pending summaries at once, since no lines follow. */
  close(): void {
    this.summaries.close();
  }

  private ofKind(name: string): Kind {
    let kind = this.kinds.get(name);
    if (kind === undefined) {
      kind = { told: new Set(), written: 0, leftOut: new Set(), isSummedUp: false, hasBegun: false };
      this.kinds.set(name, kind);
    }
    return kind;
  }

  private begin(level: keyof DestinationLogger, kind: Kind): void {
    kind.hasBegun = true;
    this.summaries.after(MINUTE, () => {
      kind.hasBegun = false;
      kind.written = 0;
      kind.isSummedUp = kind.leftOut.size > 0;
      if (kind.isSummedUp) {
        this.begin(level, kind);
        this.logger[level](summaryOf([...kind.leftOut]));
      }
      kind.leftOut.clear();
    });
  }
}

/** Returns a line that counts the others. The count comes first, since the latest line may have several rows. */
function summaryOf(lines: readonly string[]): string {
  const latest = lines.at(-1) ?? '';
  const others = lines.length - 1;
  if (others === 0) return latest;
  const count = lines.length < MAX_LEFT_OUT ? others : `At least ${others}`;
  return `${count} more ${others === 1 ? 'line like this was' : 'lines like this were'} left out in the last minute: ${latest}`;
}

import { type Clock, SYSTEM_CLOCK } from '../shared/clock.js';
import { LaterLines } from './later-lines.js';

/** Writes the lines about destinations. */
export interface DestinationLogger {
  error(message: string): void;
  warn(message: string): void;
}

/** Lines of one kind that are remembered, so that each is written once. */
const MAX_TOLD = 1_000;
/** Lines of one kind that may be written within a minute. What else there is to tell is summed up at its end. */
const LINES = 5;
/** Lines of one kind that are told apart when they are counted. */
const MAX_LEFT_OUT = 10_000;
const MINUTE = 60_000;

/** The lines of one kind. */
interface Kind {
  readonly told: Set<string>;
  /** How many were written in this minute. */
  written: number;
  /** Those of this minute that were not written. */
  readonly leftOut: Set<string>;
  /** Set from a summary until a minute is over that leaves out nothing. */
  isSummedUp: boolean;
  /** Whether a minute has begun, with its first line. */
  hasBegun: boolean;
}

/**
 * Logs why destinations get no messages. There may be thousands of them with the same fault: of each
 * kind of line some are written, and then one a minute that counts the others.
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
   * Writes a line that was not written before.
   *
   * @param kind the same for lines that differ only in the destination and the reason
   */
  write(level: keyof DestinationLogger, kind: string, line: string): void {
    const { told } = this.ofKind(kind);
    if (told.has(line)) return;
    // A line that is repeated after a while does less harm than a list without end.
    if (told.size >= MAX_TOLD) told.clear();
    told.add(line);
    this.writeEach(level, kind, line);
  }

  /** The same for something that happens, of which each time is reported. */
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

  /** Sums up what is left, since nothing follows. */
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

/** A line may have several rows, so the count comes first. */
function summaryOf(lines: readonly string[]): string {
  const latest = lines.at(-1) ?? '';
  const others = lines.length - 1;
  if (others === 0) return latest;
  const count = lines.length < MAX_LEFT_OUT ? others : `At least ${others}`;
  return `${count} more ${others === 1 ? 'line like this was' : 'lines like this were'} left out in the last minute: ${latest}`;
}

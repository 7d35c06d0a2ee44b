/** Where lines go. */
export interface QueueLog {
  warn(message: string): void;
  log(message: string): void;
}

const MINUTE = 60_000;
const LINES = 5;

/** Lets five lines a minute through: errors that occur several times a second must not fill the log. */
export class LimitedLog {
  /** When the latest lines were written, by the monotonic clock, oldest first. */
  private readonly written: number[] = [];

  constructor(
    private readonly logger: QueueLog,
    private readonly now: () => number,
  ) {}

  /** Whether this many lines may be written now. */
  hasRoomFor(lines: number): boolean {
    return this.waitFor(lines) === 0;
  }

  /** Milliseconds until this many lines may be written. */
  waitFor(lines: number): number {
    const oldest = this.written.at(lines - 1 - LINES);
    return oldest === undefined ? 0 : Math.max(oldest + MINUTE - this.now(), 0);
  }

  warn(message: string): void {
    this.note();
    this.logger.warn(message);
  }

  log(message: string): void {
    this.note();
    this.logger.log(message);
  }

  /** Writes a line of any level, unless there is no room for it. */
  ifRoom(write: () => void): void {
    if (!this.hasRoomFor(1)) return;
    this.note();
    write();
  }

  private note(): void {
    this.written.push(this.now());
    if (this.written.length > LINES) this.written.shift();
  }
}

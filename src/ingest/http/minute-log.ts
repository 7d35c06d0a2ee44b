/** Shortest time between two lines, in milliseconds. */
const INTERVAL = 60_000;

/** Counts events of one kind, and writes the first at once and later ones in one line a minute. */
export class MinuteLog {
  private count = 0;
  private timer: NodeJS.Timeout | undefined;

  /** @param writeLine writes a line about this many events */
  constructor(private readonly writeLine: (count: number) => void) {}

  add(): void {
    this.count++;
    if (this.timer === undefined) this.write();
  }

  /** Writes the remaining count, since no timer does once the application has closed. */
  close(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.writeCount();
  }

  private readonly write = (): void => {
    this.timer = undefined;
    if (this.writeCount()) this.timer = setTimeout(this.write, INTERVAL).unref();
  };

  /** Returns whether there was anything to write. */
  private writeCount(): boolean {
    const { count } = this;
    if (count === 0) return false;
    this.count = 0;
    this.writeLine(count);
    return true;
  }
}

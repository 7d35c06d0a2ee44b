import type { Clock, Timer } from '../shared/clock.js';

/**
 * Summaries that are written later. When the application closes they are written at once, and nothing is written after
 * that.
 */
export class LaterLines {
  private readonly waiting = new Map<() => void, Timer>();
  private isClosed = false;

  constructor(private readonly clock: Clock) {}

  /** @param write called once */
  after(milliseconds: number, write: () => void): void {
    if (this.isClosed) return;
    const due = (): void => {
      this.waiting.delete(due);
      write();
    };
    this.waiting.set(due, this.clock.afterUnlessIdle(milliseconds, due));
  }

  close(): void {
    this.isClosed = true;
    for (const [due, timer] of [...this.waiting]) {
      timer.cancel();
      due();
    }
  }
}

/** The longest time that a loop runs before timers and requests get a turn, in milliseconds. */
const SLICE = 10;

/**
 * Keeps a long loop from blocking the event loop. Awaiting is not enough for that: settled promises, and the
 * embedded database, continue without a turn of timers and sockets in between.
 */
export class TimeSlice {
  private endsAt = performance.now() + SLICE;

  /** Whether it is time to `pause`; costs next to nothing. */
  get isOver(): boolean {
    return performance.now() >= this.endsAt;
  }

  /** Lets everything else have a turn. */
  async pause(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.endsAt = performance.now() + SLICE;
  }

  /** Pauses if it is time to. */
  async check(): Promise<void> {
    if (this.isOver) await this.pause();
  }
}

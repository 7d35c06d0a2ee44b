/** The process runs on when it is asked, or ticks, this often at least, in milliseconds. */
const LONGEST_PAUSE = 60_000;

/**
 * Since when this process runs without a longer pause, in milliseconds since the epoch: the machine may sleep, and its clock
 * may be set.
 */
export class RunningSince {
  private since = Date.now();
  private seenAt = this.since;

  /** Called now and then. */
  tick(): void {
    const now = Date.now();
    if (now - this.seenAt > LONGEST_PAUSE) this.since = now;
    // The clock was set back.
    if (now < this.seenAt) this.since -= this.seenAt - now;
    this.seenAt = now;
  }

  get time(): number {
    this.tick();
    return this.since;
  }
}

/** Longest time between two ticks of a process that runs without a pause, in milliseconds. */
const LONGEST_PAUSE = 60_000;

/**
 * Tracks since when this process has run without a longer pause, in milliseconds since the epoch. The machine may
 * sleep, and its clock may be set.
 */
export class RunningSince {
  private since = Date.now();
  private seenAt = this.since;

  /** Must be called now and then, to notice pauses. */
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

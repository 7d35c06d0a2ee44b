/** How long work that became ready at once runs before timers and requests get a turn, in milliseconds. */
const SLICE = 5;

/**
 * Shares the event loop between pieces of work that become ready at the same moment, such as all batches that
 * wait for a receiver when it goes down. Each takes a millisecond, but they would run one after the other in a
 * single turn of the event loop. Here, what does not fit into a slice waits for the next turn, in order.
 */
export class EventLoopTurns {
  private endsAt: number | undefined;

  /** Whether work may run now. If there is much of it, this has to be asked for each piece. */
  get hasTime(): boolean {
    const now = performance.now();
    if (this.endsAt === undefined) {
      this.endsAt = now + SLICE;
      setImmediate(() => {
        this.endsAt = undefined;
      });
    }
    return now < this.endsAt;
  }

  /** Resolves when work may run. Await this before the work, unless `hasTime` is `true`. */
  take(): Promise<void> {
    return new Promise((resolve) => {
      this.wait(resolve);
    });
  }

  /**
   * Everything that `resolve` sets off runs before the next callback here, which can therefore measure it.
   */
  private wait(resolve: () => void): void {
    setImmediate(() => {
      if (this.hasTime) resolve();
      else this.wait(resolve);
    });
  }
}

/** Between two tries, in milliseconds. */
const PAUSE = 1_000;
/** A minute. A write that fails for longer is not only due to the queue's state. */
const MOST_TRIES = 60;

/**
 * Writes to the queue what became of messages. If that were given up as soon as the queue fails, the job would be tried
 * again later, with messages that were delivered already.
 */
export class QueueWrites {
  constructor(private readonly onFailed: (error: unknown) => void) {}

  /**
   * Tries a write until it succeeds, or the job has to end.
   *
   * @param isBusy whether more of the job is on its way, so that it cannot end yet
   */
  async untilDone<T>(
    write: () => Promise<T>,
    signal: AbortSignal,
    isBusy: () => boolean = () => false,
  ): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await write();
      } catch (error) {
        this.onFailed(error);
        if (!isBusy() && (tries >= MOST_TRIES || signal.aborted)) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
  }
}

import { failureOf } from '../queue/queue-failure.js';

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
   * Tries a write until it succeeds, or the job has to end. An error that is not the queue's state, such as a job
   * that is gone, is not tried again.
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
        const isHopeless = failureOf(error) === undefined || tries >= MOST_TRIES || signal.aborted;
        if (isHopeless && !isBusy()) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
  }
}

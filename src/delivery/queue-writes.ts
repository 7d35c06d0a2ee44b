import { failureOf } from '../queue/queue-failure.js';

/** Pause between two tries, in milliseconds. */
const PAUSE = 1_000;
/** Most tries of a write, which take a minute. A write that fails for longer is not only due to the queue's state. */
const MOST_TRIES = 60;

/**
 * Writes the results of messages to the queue. If a write were given up as soon as the queue fails, the job would be
 * tried again later, with messages that were already delivered.
 */
export class QueueWrites {
  constructor(private readonly onFailed: (error: unknown) => void) {}

  /**
   * Tries a write until it succeeds. Gives up when the job has to end, after `MOST_TRIES`, or after an error that is
   * not due to the queue's state, such as a missing job, but never while `isBusy`.
   *
   * @param isBusy whether more of the job is on its way, so that the job cannot end yet
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

import { within } from './within.js';

/** Records when a part of some work was last done. */
export class Progress {
  private madeAt = 0;

  /** Records that a part is done. */
  readonly make = (): void => {
    this.madeAt = performance.now();
  };

  /**
   * Waits for the work while it makes progress.
   *
   * @param patience the longest time without progress, in milliseconds
   * @param end when to stop waiting in any case, by `performance.now()`
   */
  async wait(work: Promise<unknown>, patience: number, end: number): Promise<void> {
    this.make();
    const isDone = work.then(() => true);
    const left = (): number => Math.min(this.madeAt + patience, end) - performance.now();
    let isOver = false;
    while (!isOver && left() > 0) isOver = (await within(left(), isDone)) ?? false;
  }
}

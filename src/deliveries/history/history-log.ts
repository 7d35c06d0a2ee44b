import { thrownAt } from '../../shared/thrown-at.js';
import { LimitedLog, type QueueLog } from '../../queue/limited-log.js';
import { failureOf } from '../../queue/queue-failure.js';

/** Writes one line when deliveries are missing in the history, and one when it is complete again. */
export class HistoryLog {
  private lost = 0;
  private isTold = false;
  private readonly lines: LimitedLog;

  constructor(logger: QueueLog, now: () => number) {
    this.lines = new LimitedLog(logger, now);
  }

  /**
   * Deliveries could not be recorded.
   *
   * @param failure what the store answered; `undefined` if it did not answer
   */
  onLost(deliveries: number, failure: unknown): void {
    this.lost += deliveries;
    if (this.isTold) return;
    // A table that may not be used is told of already.
    if (deliveries === 0 && failureOf(failure)?.kind === 'partial') return;
    this.isTold = true;
    if (!this.lines.hasRoomFor(2)) return;
    const reason = failure === undefined ? 'no answer' : (failureOf(failure)?.reason ?? thrownAt(failure));
    this.lines.warn(
      `The history of deliveries cannot be written (${reason}), so deliveries will be missing from it. Delivery ` +
        'itself goes on. Check the database of the queue.',
    );
  }

  onWritten(): void {
    if (!this.isTold) return;
    if (this.lines.hasRoomFor(1)) {
      this.lines.log(
        `The history of deliveries is written again; ${this.lost === 1 ? '1 delivery is' : `${this.lost} deliveries are`} missing from it.`,
      );
    }
    this.lost = 0;
    this.isTold = false;
  }
}

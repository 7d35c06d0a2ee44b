import { thrownAt } from '../../shared/thrown-at.js';
import { LimitedLog, type QueueLog } from '../../queue/limited-log.js';
import { failureOf } from '../../queue/queue-failure.js';

/** Logs when and why deliveries are missing from the history, and when it is complete again. */
export class HistoryLog {
  private lost = 0;
  private told: 'away' | 'behind' | undefined;
  private readonly lines: LimitedLog;

  constructor(logger: QueueLog, now: () => number) {
    this.lines = new LimitedLog(logger, now);
  }

  /** Counts deliveries that could not be recorded. */
  onLost(deliveries: number): void {
    this.lost += deliveries;
  }

  /** Logs that the store takes deliveries more slowly than they come. */
  onBehind(): void {
    if (this.told !== undefined) return;
    this.told = 'behind';
    this.warn(
      'The history of deliveries cannot keep up with deliveries, so some deliveries will be missing from it. Delivery ' +
        'itself goes on.',
    );
  }

  /**
   * Logs that the store takes nothing.
   *
   * @param failure error of the store; `undefined` if it did not answer
   */
  onAway(failure: unknown): void {
    if (this.told === 'away') return;
    // A missing or forbidden table is already logged elsewhere, and so are statements that the server ends.
    if (this.lost === 0 && failureOf(failure)?.kind === 'partial') return;
    this.told = 'away';
    const reason = failure === undefined ? 'no answer' : (failureOf(failure)?.reason ?? thrownAt(failure));
    this.warn(
      `The history of deliveries cannot be written (${reason}), so deliveries will be missing from it. Delivery ` +
        'itself goes on. Check the database of the queue.',
    );
  }

  onWritten(): void {
    if (this.told === undefined) return;
    const again = this.told === 'away' ? 'is written' : 'keeps up';
    this.told = undefined;
    if (!this.lines.hasRoomFor(1)) return;
    const lost = this.lost === 1 ? '1 delivery is' : `${this.lost} deliveries are`;
    this.lines.log(`The history of deliveries ${again} again; ${lost} missing from it.`);
    this.lost = 0;
  }

  /** Writes a line if there is also room for the line that reports the recovery. */
  private warn(text: string): void {
    if (this.lines.hasRoomFor(2)) this.lines.warn(text);
  }
}

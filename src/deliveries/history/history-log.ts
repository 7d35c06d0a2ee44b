import { thrownAt } from '../../shared/thrown-at.js';
import { LimitedLog, type QueueLog } from '../../queue/limited-log.js';
import { failureOf } from '../../queue/queue-failure.js';

/** Tells when deliveries are missing in the history, why, and when it is complete again. */
export class HistoryLog {
  private lost = 0;
  private told: 'away' | 'behind' | undefined;
  private readonly lines: LimitedLog;

  constructor(logger: QueueLog, now: () => number) {
    this.lines = new LimitedLog(logger, now);
  }

  /** Deliveries could not be recorded. */
  onLost(deliveries: number): void {
    this.lost += deliveries;
  }

  /** The store takes what it is given, but not as fast as it comes. */
  onBehind(): void {
    if (this.told !== undefined) return;
    this.told = 'behind';
    this.warn(
      'More is delivered than the history of deliveries takes, so some deliveries will be missing from it. Delivery ' +
        'itself goes on.',
    );
  }

  /**
   * The store takes nothing.
   *
   * @param failure what it answered; `undefined` if it did not answer
   */
  onAway(failure: unknown): void {
    if (this.told === 'away') return;
    // A table that is missing, or may not be used, is told of already, and so are statements that the server ends.
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

  /** With room for the line at the end. */
  private warn(text: string): void {
    if (this.lines.hasRoomFor(2)) this.lines.warn(text);
  }
}

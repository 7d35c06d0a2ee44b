import { type Clock, SYSTEM_CLOCK, type Timer } from '../shared/clock.js';
import type { OutgoingMessages } from './outgoing-messages.js';

/** Between two looks whether look-ups can be answered, in milliseconds. */
const INTERVAL = 500;
/** Looks in a row after which a look-up is not waited for any longer. */
const LOOKS = 4;

/**
 * Tells when look-ups have not been answered for two seconds, although they could be: one may never be. While the
 * database stands still or is away, it waits for it, and then begins anew. It counts looks rather than time, since an
 * event loop that stalled has not seen the answers yet.
 */
export class LookupPatience {
  private looks = 0;
  private timer: Timer | undefined;
  /** Whether the last answer took long. Those of some stores always do. */
  private isSlow = false;
  private isOver = false;

  constructor(
    private readonly outgoing: Pick<OutgoingMessages, 'canLookUp'>,
    private readonly onOver: () => void,
    private readonly clock: Clock = SYSTEM_CLOCK,
  ) {
    this.lookLater();
  }

  /** One of them was answered. */
  renew(): void {
    this.looks = 0;
  }

  /** Nobody waits any more. */
  end(): void {
    this.isOver = true;
    this.timer?.cancel();
  }

  private lookLater(): void {
    this.timer = this.clock.after(INTERVAL, () => void this.look());
  }

  private async look(): Promise<void> {
    const askedAt = this.clock.now();
    const canLookUp = await this.outgoing.canLookUp();
    if (this.isOver) return;
    // The first slow answer ends a standstill, and those to the look-ups may come after it.
    const wasSlow = this.isSlow;
    this.isSlow = this.clock.now() - askedAt >= INTERVAL;
    this.looks = canLookUp && (wasSlow || !this.isSlow) ? this.looks + 1 : 0;
    if (this.looks < LOOKS) {
      this.lookLater();
    } else {
      this.isOver = true;
      this.onOver();
    }
  }
}

import { type Clock, SYSTEM_CLOCK, type Timer } from '../shared/clock.js';
import type { OutgoingMessages } from './outgoing-messages.js';

/** Time between two checks of whether look-ups can be answered, in milliseconds. */
const INTERVAL = 500;
/** Number of successful checks in a row after which look-ups are no longer waited for. */
const LOOKS = 4;

/**
 * Calls `onOver` when no look-up was answered for two seconds, although the database answers: a look-up may never end.
 * While the database stands still or is away, this class waits for it, and then starts over. It counts checks rather
 * than time, since an event loop that stalled has not seen the answers yet. The checks do not keep the process alive.
 */
export class LookupPatience {
  private looks = 0;
  private timer: Timer | undefined;
  /** Whether the last check took long. With some stores, every check does. */
  private isSlow = false;
  private isOver = false;

  constructor(
    private readonly outgoing: Pick<OutgoingMessages, 'canLookUp'>,
    private readonly onOver: () => void,
    private readonly clock: Clock = SYSTEM_CLOCK,
  ) {
    this.lookLater();
  }

  /** Starts over after a look-up was answered. */
  renew(): void {
    this.looks = 0;
  }

  /** Ends the checks, since nobody waits any more. */
  end(): void {
    this.isOver = true;
    this.timer?.cancel();
  }

  private lookLater(): void {
    this.timer = this.clock.afterUnlessIdle(INTERVAL, () => void this.look());
  }

  private async look(): Promise<void> {
    const askedAt = this.clock.now();
    const canLookUp = await this.outgoing.canLookUp();
    if (this.isOver) return;
    // The first slow check ends a standstill, and the answers to the look-ups may come after it.
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

import { CLAIM, type ClaimedRows, type ClaimLimit, type OutboxStore } from './outbox-store.js';
import { NEVER_CLAIMED } from './outbox-table.js';

/** Claims rows that are due. */
export class DueRows {
  /** Whether the last look took only rows that were claimed before. */
  private isTurnOfNew = false;

  constructor(private readonly store: Pick<OutboxStore, 'claim'>) {}

  /**
   * Claims rows. Those that were claimed before come first, as they are the oldest. If they use up the limit, every
   * other look is at new rows only, so that these are moved as well.
   */
  async claim(limit: ClaimLimit): Promise<ClaimedRows> {
    const takesAgain = !this.isTurnOfNew;
    const { rows, isFull } = await this.store.claim(CLAIM, limit, takesAgain);
    const isComplete = takesAgain && (!isFull || rows.some(({ due }) => due === NEVER_CLAIMED));
    this.isTurnOfNew = takesAgain && !isComplete;
    return { rows, isFull: isFull || !takesAgain };
  }
}

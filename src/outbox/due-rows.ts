import { endOfRest } from './end-of-rest.js';
import { CLAIM, type ClaimedRows, type ClaimLimit, type OutboxStore } from './outbox-store.js';
import { NEVER_CLAIMED } from './outbox-table.js';
import { Trailing } from './trailing.js';

/**
 * Claims rows that are due. While a session of the database keeps an old snapshot, as `pg_dump` does, PostgreSQL keeps
 * the index entries of all rows that were moved since, and a look at all rows reads each of them. So such a look rests
 * in proportion to how long it took. Looks in between read only what is new since a second or two: rows that were
 * written, and rows that became due again. The next look at all rows finds what they missed, such as the rows of a long
 * transaction, which may have lower ids than rows that were committed before.
 */
export class DueRows {
  /** Id up to which new rows were claimed. */
  private readonly claimedUpTo = new Trailing();
  /** Start of a look that left no row that was claimed before, by the monotonic clock. */
  private readonly completeAt = new Trailing();
  /** Time from which a look may be at all rows, by the monotonic clock. */
  private allAt = -Infinity;
  /** Whether the last look was not at all rows. */
  private isPartial = false;
  /** Whether the last look took only rows that were claimed before. */
  private isTurnOfNew = false;
  /** Time until which a look that found nothing rests, by the monotonic clock. */
  private restsUntil = -Infinity;

  constructor(private readonly store: Pick<OutboxStore, 'claim' | 'newAfter'>) {}

  /** Milliseconds until the next look, if no row is written. */
  get pause(): number {
    return this.isPartial ? Math.max(this.allAt - performance.now(), 0) : Infinity;
  }

  /** Milliseconds until the next look, even if rows are written. Not above 0 if the last look found rows. */
  get rest(): number {
    return this.restsUntil - performance.now();
  }

  /**
   * Claims rows. Those that were claimed before come first, as they are the oldest. If they use up the limit, every
   * other look is at new rows only, so that these are moved as well.
   */
  async claim(limit: ClaimLimit): Promise<ClaimedRows> {
    const startedAt = performance.now();
    const isPartial = startedAt < this.allAt;
    const takesAgain = !this.isTurnOfNew;
    try {
      const { rows, isFull } = await this.store.claim(CLAIM, limit, {
        after: isPartial ? (this.claimedUpTo.value ?? 0) : 0,
        dueFor: isPartial && this.completeAt.value !== undefined ? startedAt - this.completeAt.value : null,
        takesAgain,
      });
      const fresh = rows.filter(({ due }) => due === NEVER_CLAIMED);
      const isComplete = takesAgain && (!isFull || fresh.length > 0);
      if (isComplete) this.completeAt.follow(startedAt, startedAt);
      this.isTurnOfNew = takesAgain && !isComplete;
      // If other relays claim all rows, only the last count tells which rows are new.
      const upTo = Math.max(fresh.at(-1)?.id ?? 0, this.store.newAfter);
      if (upTo > 0) this.claimedUpTo.follow(upTo, startedAt);
      this.restsUntil = isPartial && rows.length === 0 ? endOfRest(startedAt) : -Infinity;
      return { rows, isFull: isFull || !takesAgain };
    } finally {
      this.isPartial = isPartial;
      if (!isPartial) this.allAt = endOfRest(startedAt);
    }
  }
}

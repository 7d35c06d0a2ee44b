/** Destinations that can be written together, and the state of their writes. */
export class HistoryGroup {
  /** Write in progress. */
  work: Promise<void> | undefined;
  /** Why the last write failed. */
  failure: unknown;
  /**
   * Time since which the store has taken nothing of this group or, after a failed write, not all of it, by the clock;
   * `undefined` if nothing is due.
   */
  waitingSince: number | undefined;
  /** How often the store had taken a part of any group at `waitingSince`, or when it last took a part of this group. */
  answersBefore = 0;
  /** Whether the look-up of deleted destinations is overdue, so that writes no longer wait for it. */
  isLookUpSilent = false;
  /** How often there had been no room for entries when the last write began. */
  lossesBefore = 0;
  /** The same, when the store last took a part of this group. */
  lossesAtAnswer = 0;
}

/** Destinations that can be written at once, and what is known of their writes. */
export class HistoryGroup {
  /** What is under way. */
  work: Promise<void> | undefined;
  /** Why the last write failed. */
  failure: unknown;
  /** When something became overdue to be written, by the clock; `undefined` if nothing is. */
  waitingSince: number | undefined;
  /** How often the store had taken something of any group by then, or when it last took a part of this one. */
  answersBefore = 0;
  /** Whether nobody has answered yet which destinations are deleted, and that is not waited for any longer. */
  isLookUpSilent = false;
  /** How often there had been no room for entries when the last write began. */
  lossesBefore = 0;
  /** The same when the store last took a part of it. */
  lossesAtAnswer = 0;
}

/** What a source has taken in this process since it was started, in calls. */
export interface SourceUsage {
  /** Passed their checks, those that were filtered included. */
  received: number;
  /** Were kept by the source's `schema` from every destination that they were meant for. */
  filtered: number;
}

/** Numbers of messages by destination id. */
export type MessageTotals = ReadonlyMap<string, number>;

/** Maximum number of totals that are changed at once: all of them or none. Redis does nothing else meanwhile. */
export const CHANGED_AT_ONCE = 1_000;

/** Stores how many messages wait for each destination, over all processes, beside the queue. */
export interface BacklogStore {
  /**
   * Adds changes to the totals, and resolves to the new totals. A change of 0 only reads. A total may briefly
   * be below 0, if the end of messages is counted before their beginning. If a call with more than
   * `CHANGED_AT_ONCE` changes fails, some of them may have been added.
   */
  add(changes: MessageTotals): Promise<Map<string, number>>;
  /** All totals that are not 0. */
  all(): Promise<Map<string, number>>;
  /** How many messages wait for all destinations together. */
  waiting(): Promise<number>;
  /** Sets totals to 0, if they still have the given values. */
  clear(totals: MessageTotals): Promise<void>;
  /** Removes the entries of totals that are 0. Changes that are written at the same time are not lost. */
  tidy(): Promise<void>;
  /**
   * Resolves to whether this process may do a task now. Only one process does it at a time.
   *
   * @param interval milliseconds for which no process may do the task again
   */
  claim(task: string, interval: number): Promise<boolean>;
}

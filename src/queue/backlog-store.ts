/** Messages by the id of their destination. */
export type MessageTotals = ReadonlyMap<string, number>;

/** Totals that are changed at once: all of them or none. Redis does nothing else meanwhile. */
export const CHANGED_AT_ONCE = 1_000;

/** Stores how many messages wait for each destination, over all processes, beside the queue. */
export interface BacklogStore {
  /**
   * Adds changes to the totals, and resolves to the new totals. A change of 0 only reads. A total may briefly
   * be below 0, if the end of messages is counted before their beginning. If it fails, some of more than
   * `CHANGED_AT_ONCE` may have been added.
   */
  add(changes: MessageTotals): Promise<Map<string, number>>;
  /** All totals that are not 0. */
  all(): Promise<Map<string, number>>;
  /** How many messages wait for all destinations together. */
  waiting(): Promise<number>;
  /** Sets totals to 0, if they still have the given values. */
  clear(totals: MessageTotals): Promise<void>;
  /** Removes what is kept of totals that are 0. Changes that are written at the same time count. */
  tidy(): Promise<void>;
  /**
   * Whether this process may do a task now. Only one of all processes does it at a time.
   *
   * @param interval during which no process may do it again, in milliseconds
   */
  claim(task: string, interval: number): Promise<boolean>;
}

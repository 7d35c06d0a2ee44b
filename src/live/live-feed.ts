/** An event that somebody may watch, with its number in its scope. */
export interface NumberedEvent {
  /** Numbers of events follow one another; one that is missing was not kept. */
  number: number;
  /** JSON text of a `LiveEvent`. */
  event: string;
}

/** The scope of the operator: the events of all tenants, and of none. That of a tenant is its name. */
export const ALL_EVENTS = '';

/**
 * The latest events of all processes, for those who watch them. It is stored beside the queue, and nothing is
 * stored of a scope that nobody watches.
 */
export interface LiveFeed {
  /** The scopes that somebody watches. */
  watched(): Promise<string[]>;
  /**
   * Somebody watches a scope, and will for `watchTime` if this is not called again. Resolves to the number of
   * its latest event.
   */
  watch(scope: string): Promise<number>;
  /**
   * Adds JSON texts of events to a scope that is watched.
   *
   * @param skipped events before them that were too many to be added; they are only numbered
   */
  append(scope: string, events: readonly string[], skipped: number): Promise<void>;
  /** Up to `readEvents` events of a scope that came after the one with this number, the oldest first. */
  read(scope: string, after: number): Promise<NumberedEvent[]>;
}

/** What is kept of a scope, and for how long, in milliseconds. */
export const LIVE_LIMITS = {
  /** How long somebody counts as watching. */
  watchTime: 10_000,
  /** The latest events of a scope. */
  keptEvents: 500,
  eventLifetime: 60_000,
  /** Events that one reading returns. */
  readEvents: 100,
} as const;

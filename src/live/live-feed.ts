/** An event that somebody may watch, with its number in its scope. */
export interface NumberedEvent {
  /** Numbers of events are consecutive. An event whose number is missing was not kept. */
  number: number;
  /** JSON text of a `LiveEvent`. */
  event: string;
}

/** The operator's scope: events of all tenants, and events that belong to no tenant. A tenant's scope is its name. */
export const ALL_EVENTS = '';

/**
 * The latest events of all processes, for those who watch them. They are stored beside the queue, and only for scopes
 * that somebody watches.
 */
export interface LiveFeed {
  /** Resolves to the scopes that somebody watches. */
  watched(): Promise<string[]>;
  /**
   * Marks a scope as watched for the next `watchTime`. Resolves to the number of its latest event.
   */
  watch(scope: string): Promise<number>;
  /**
   * Adds JSON texts of events to a scope that is watched.
   *
   * @param skipped number of earlier events that were too many to be added, and only take numbers
   */
  append(scope: string, events: readonly string[], skipped: number): Promise<void>;
  /** Resolves to up to `readEvents` events of a scope that came after number `after`, the oldest first. */
  read(scope: string, after: number): Promise<NumberedEvent[]>;
}

/** What is kept of a scope, and for how long, in milliseconds. */
export const LIVE_LIMITS = {
  /** How long a scope counts as watched. */
  watchTime: 10_000,
  /** Number of the latest events that are kept of a scope. */
  keptEvents: 500,
  eventLifetime: 60_000,
  /** Maximum number of events that one `read` returns. */
  readEvents: 100,
} as const;

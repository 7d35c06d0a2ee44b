import type { OutcomeClass, QueuedMessage, UrlOutcome } from '../queue/batch-job.js';

/** The result of an attempt of a whole message, over all its URLs. */
export interface DeliveryResult {
  /** `deferred`: no URL could be tried now, but one may be later. This does not count as an attempt. */
  class: OutcomeClass | 'deferred';
  /** The latest outcome of every URL that was ever tried, this attempt's included. */
  outcomes: UrlOutcome[];
  /** The largest `Retry-After` of this attempt, in milliseconds from its answer. */
  retryAfter?: number;
  /**
   * For a message to retry: whether the signal ended a request of this attempt, so that its URL gets another one soon,
   * even after the last attempt.
   */
  isBrokenOff?: boolean;
  /** For a deferred message: milliseconds until the next try is worthwhile. */
  wait?: number;
}

/** The circumstances of an attempt. */
export interface AttemptTerms {
  /** Whether no attempt comes after this one. The last attempt is made even at a URL that seems to be down. */
  isLast: boolean;
  /** When the messages were first tried or put off, in milliseconds since the epoch. */
  firstAttemptAt: number;
  /**
   * Aborted when the process shuts down. Unsettled messages then have no result, unless a URL has refused them in this
   * attempt.
   */
  signal: AbortSignal;
}

/**
 * Called once, with the result of each message, in their order: `undefined` for those that the signal ended
 * before they were settled.
 */
export type SettleMessages = (results: readonly (DeliveryResult | undefined)[]) => void;

/** What became of the messages of an attempt. */
export interface AttemptSummary {
  delivered: readonly unknown[];
  /** Messages that failed for good. */
  failed: readonly QueuedMessage[];
}

/** Where messages are delivered to. The queue's jobs name it by its `id`. */
export interface Destination {
  readonly id: string;
  /** The name that `integrations` uses for it. */
  readonly name: string;
  /** Milliseconds from the first attempt during which a message is retried. */
  readonly retryWindow: number;
  /** The largest number of messages in one call of `deliver`: 1 if each message is a request of its own. */
  readonly requestSize: number;
  /** Characters of the bodies in one call of `deliver`, unless a single message has more. @default no limit */
  readonly requestCharacters?: number;
  /** The origins that a call of `deliver` connects to: one entry for each URL. */
  readonly origins: readonly string[];
  /**
   * Requests a second, over all processes. Only for a destination whose messages are requests of their own.
   * @default no limit
   */
  readonly rateLimit?: number | undefined;
  /** Whether nothing may be sent to it now, so that its messages are kept. @default false */
  readonly isDisabled?: boolean;
  /**
   * Returns the origin of the URL that an outcome names by its hash: enough for a log, and never a secret. Returns
   * `undefined` if nothing is sent to that URL any more.
   */
  origin(urlHash: string): string | undefined;
  /**
   * Returns the milliseconds until a message is worth sending, or 0 if it can be sent now.
   *
   * @param now milliseconds since the epoch
   * @param refusedBy hashes of the URLs that have refused the message for good, and that it is not sent to again
   */
  heldBack(now: number, refusedBy: readonly string[]): number;
  /**
   * Returns the result of a message whose window is over, if requests of other messages have shown that its URLs are
   * down: those requests count as its last attempt. Returns `undefined` if the message has to be sent once more.
   *
   * @param firstAttemptAt as in `AttemptTerms`
   * @param now milliseconds since the epoch
   */
  lastResult(message: QueuedMessage, firstAttemptAt: number, now: number): DeliveryResult | undefined;
  /** Called after each attempt. */
  attempted?(attempt: AttemptSummary): void;
  /**
   * Sends at most `requestSize` messages, each to all URLs that it has left. Never throws.
   *
   * @param answered called with the origin of a URL that has answered, or that nothing is sent to, while others have
   *   not answered yet
   */
  deliver(
    messages: readonly QueuedMessage[],
    terms: AttemptTerms,
    settle: SettleMessages,
    answered?: (origin: string) => void,
  ): void;
}

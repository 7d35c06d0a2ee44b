/** Failures in a row after which a URL counts as down: it is left alone, and its owner is told. */
export const FAILURES_UNTIL_DOWN = 5;

/** What an attempt at one URL came to: settled well, worth another attempt, or settled for good. */
export type OutcomeClass = 'delivered' | 'retry' | 'permanent';

/** What one URL answered to the latest attempt of one message. */
export interface UrlOutcome {
  /** A hash of the URL: URLs may carry secrets, so they are never stored. */
  url: string;
  class: OutcomeClass;
  /** Status of the response, when there was one. */
  status?: number;
  /** Code of the error, when there was no response: `TIMEOUT`, `ECONNREFUSED`, … */
  error?: string;
  /** The first bytes of the response body, as text. */
  excerpt?: string;
  /** Which attempt of the message at this URL this was, from 1. */
  attempt: number;
  /** When the attempt began, in milliseconds since the epoch. */
  at: number;
  /** How long the attempt took, in milliseconds. */
  duration: number;
}

/** A message as the queue carries it: serialised once, with what the URLs answered so far. */
export interface QueuedMessage {
  /** The messageId. */
  id: string;
  /** The exact bytes to send, as the JSON text that was made at the call. */
  body: string;
  outcomes: UrlOutcome[];
}

/** What an attempt of a whole message came to, over all its URLs. */
export interface DeliveryResult {
  /** `deferred`: no URL could be tried now, and one may be later; that is no attempt. */
  class: OutcomeClass | 'deferred';
  /** The latest outcome of every URL that was ever tried, this attempt's included. */
  outcomes: UrlOutcome[];
  /** The largest `Retry-After` of this attempt, in milliseconds from its answer. */
  retryAfter?: number;
  /** For a deferred message: milliseconds after which it is worth trying. */
  wait?: number;
}

/** The circumstances of an attempt. */
export interface DeliveryAttempt {
  /** Nothing comes after it, so it is made at every URL that is left, even at one that seems down. */
  isLast: boolean;
  /** Aborted when the process shuts down: what is not settled then is reported as `undefined`. */
  signal: AbortSignal;
  /** Called whenever a message is settled, so that a destination that moves is told from one that hangs. */
  onSettled: () => void;
}

/** Where messages are delivered to. The queue's jobs name it by its `id`. */
export interface Destination {
  readonly id: string;
  /** The name that `integrations` knows it by. */
  readonly name: string;
  /** Milliseconds from the first attempt during which a message is retried. */
  readonly retryWindow: number;
  /** The origin of the URL that an outcome names by its hash: enough for a log, and never a secret. */
  origin(urlHash: string): string;
  /**
   * Delivers the messages of a batch. Never rejects; resolves to what each came to, in their order:
   * `undefined` for those that the signal ended before they were settled.
   */
  deliver(
    messages: readonly QueuedMessage[],
    attempt: DeliveryAttempt,
  ): Promise<(DeliveryResult | undefined)[]>;
}

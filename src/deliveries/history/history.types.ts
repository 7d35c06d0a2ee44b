import type { MessageType } from '../../messages/message.types.js';
import type { UrlOutcome } from '../../queue/batch-job.js';

/** Names a destination, of the options or added at run time, and who asks. */
interface HistoryQuery {
  /** The destination's id. */
  destination: string;
  /**
   * The tenant that asks: a destination of another tenant counts as not found. `undefined` is refused.
   * @default any destination
   */
  tenant?: string;
}

/** Selects the latest deliveries of a destination. */
export interface RecentQuery extends HistoryQuery {
  /** Number of deliveries, 1 to 100. @default 100 */
  limit?: number | undefined;
}

/** Selects hours of the last seven days. */
export interface HourRange {
  /** A time in the first hour; a number is in milliseconds since the epoch. @default seven days ago */
  from?: Date | number | undefined;
  /** A time in the last hour. @default now */
  to?: Date | number | undefined;
}

/** Selects hours of the last seven days of a destination. */
export interface StatsQuery extends HistoryQuery, HourRange {}

/** One attempt to deliver a message to one URL. A URL is named by a hash. */
export interface DeliveryAttempt extends UrlOutcome {
  /** Origin of the URL; the rest of it may hold a secret. `undefined` if the destination no longer has the URL. */
  origin: string | undefined;
}

/**
 * What happened to one message at one destination. Data of the message itself: the id and the event name, and whatever
 * the receiver has repeated in its answers.
 */
export interface RecentDelivery {
  messageId: string;
  /** `undefined` for a body that was not made by this package. */
  type: MessageType | undefined;
  /** Name of the event, for the type `track`. */
  event?: string;
  /** Name of the source. */
  source: string;
  /**
   * `delivered`: at least one URL took the message. `retrying`: the message will be tried again. `failed`: the message
   * failed for good, is kept, and can be replayed.
   */
  state: 'delivered' | 'retrying' | 'failed';
  /** The error code if the message could not be tried at all: `DESTINATION_DISABLED`, … */
  error?: string;
  /** Time at which the message came into this state, in milliseconds since the epoch. */
  at: number;
  /**
   * The latest 20 attempts over all URLs, in their order. The first 256 characters of each answer are kept, even if the
   * URL took the message. A receiver may have written data of the user there.
   */
  attempts: DeliveryAttempt[];
}

/** What happened at one destination in one hour, over all processes. */
export interface HourStats {
  /** When the hour began, in milliseconds since the epoch. */
  hour: number;
  /** Messages that at least one URL took. */
  delivered: number;
  /** How often a message had to be retried. */
  retried: number;
  /** Messages that failed for good. */
  failed: number;
  /**
   * How long attempts took, including failed ones, in milliseconds and within 10 %; `undefined` in an hour without
   * attempts.
   */
  durations: DurationPercentiles | undefined;
}

/** What happened at all destinations together in one hour, over all processes. */
export interface HourTotals extends HourStats {
  /**
   * The most messages that waited at one time, over all destinations; `undefined` if no process with a worker counted
   * them.
   */
  waiting: number | undefined;
}

/** What happened at all destinations together in one minute, over all processes. */
export interface MinuteTotals extends Pick<HourTotals, 'delivered' | 'retried' | 'failed' | 'waiting'> {
  /** When the minute began, in milliseconds since the epoch. */
  minute: number;
}

/** The time within which this share of attempts ended, in milliseconds. */
export interface DurationPercentiles {
  p50: number;
  p95: number;
  p99: number;
}

import { UnsubscriptionError } from 'rxjs';
import type { FullBacklog } from '../queue/destination-backlog.js';
import type { UrlOutcome } from '../queue/batch-job.js';
import { thrownAt } from '../shared/thrown-at.js';
import type { MessageType } from '../messages/message.types.js';
import { EventChannel } from './event-channel.js';

/** The result of one attempt to deliver a message. */
export interface MessageOutcome {
  messageId: string;
  /** `undefined` for a body that was not made by this package. */
  type: MessageType | undefined;
  /** The destination's id. */
  destination: string;
  /** Name of the source. */
  source: string;
  /**
   * `delivered`: at least one URL took the message, which settles it. `retry`: no URL took it, and it will be tried
   * again. `failed`: the message failed for good, is kept, and can be replayed. `dropped`: the destination was deleted
   * while the message waited for it.
   */
  class: 'delivered' | 'retry' | 'failed' | 'dropped';
  /** The error code if the message could not be tried at all: `DESTINATION_NOT_FOUND`. */
  error?: string;
  /** The latest outcome of each URL that was ever tried. A URL is named by a hash. */
  outcomes: readonly UrlOutcome[];
}

/** A URL changed its state, as seen by this process. Events come in the order of the URL's answers. */
export interface EndpointStateEvent {
  /**
   * `down`: five requests in a row failed, and messages for the URL are put back. `exhausted`: for the first time
   * since the URL last took a message, a message failed for good. `up`: after `down`, the URL answers again; after
   * `exhausted`, it has taken a message again.
   */
  type: 'down' | 'exhausted' | 'up';
  /** The destination's id. */
  destination: string;
  /** Origin of the URL, such as `https://hooks.example.com`. */
  origin: string;
  /** Hash of the URL, as in the outcomes. */
  url: string;
  /** When the first request failed since the URL last took a message, in milliseconds since the epoch. */
  since: number;
  /** Requests that failed since then. */
  failures: number;
  /** Messages that failed for good since then. */
  failedMessages: number;
  /** Status of the latest response, if there was one. */
  status?: number;
  /** Code of the latest error, if there was no response: `TIMEOUT`, `ECONNREFUSED`, … */
  error?: string;
}

/**
 * A destination's backlog reached its limit, or has room again. Emitted by processes that track messages for the
 * destination, whether or not they deliver, and by those that move the rows of an outbox.
 */
export interface BacklogEvent extends FullBacklog {
  /** `full`: messages for the destination are refused from now on. `drained`: they are accepted again. */
  type: 'full' | 'drained';
}

/** A destination that was added at run time takes no messages any more. */
export interface DeadDestinationEvent {
  /**
   * `disabling`: the destination will be disabled unless it takes a message, in a day or in a fifth of `disableAfter`,
   * whichever is less. `disabled`: the destination was disabled.
   */
  type: 'disabling' | 'disabled';
  /** The destination's id. */
  destination: string;
  /** Reason, in words. */
  reason: string;
  /** Time since which every message is known to have failed for good, in milliseconds since the epoch. */
  since: number;
}

/** A change of a URL or a destination that its owner should know about. */
export type EndpointEvent = EndpointStateEvent | BacklogEvent | DeadDestinationEvent;

/** What this process reports to the application about its deliveries. */
export class DeliveryEvents {
  readonly outcomes: EventChannel<MessageOutcome>;
  readonly endpoints: EventChannel<EndpointEvent>;

  constructor(logger: { error(message: string): void }) {
    this.outcomes = new EventChannel(tellOnce('outcomes$', logger));
    this.endpoints = new EventChannel(tellOnce('endpoints$', logger));
  }

  /** Completes both streams. Called when this process no longer delivers anything. */
  complete(): void {
    this.outcomes.complete();
    this.endpoints.complete();
  }
}

/** Returns an error handler that logs one line per place that throws, not one per event. */
export function tellOnce(stream: string, logger: { error(message: string): void }): (error: unknown) => void {
  const told = new Set<string>();
  return (error) => {
    // RxJS collects the errors that are thrown when a subscription ends.
    const errors: unknown[] = error instanceof UnsubscriptionError ? error.errors : [error];
    for (const thrown of errors.map(thrownAt)) {
      if (told.has(thrown)) continue;
      told.add(thrown);
      logger.error(`A subscriber of \`${stream}\` threw ${thrown}. Delivery continues; fix the subscriber.`);
    }
  };
}

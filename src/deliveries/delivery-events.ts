import type { UrlOutcome } from '../destinations/destination.js';
import { thrownAt } from '../errors/thrown-at.js';
import type { MessageType } from '../messages/message.types.js';
import { EventChannel } from './event-channel.js';

/** What one attempt to deliver a message came to. */
export interface MessageOutcome {
  messageId: string;
  /** `undefined` for a body that was not made by this package. */
  type: MessageType | undefined;
  /** The destination's id. */
  destination: string;
  /** Name of the source. */
  source: string;
  /**
   * `delivered`: at least one URL took it, which settles it. `retry`: none did, and it will be tried
   * again. `failed`: for good; it is kept and can be replayed.
   */
  class: 'delivered' | 'retry' | 'failed';
  /** The code of the error when the message could not be tried at all: `DESTINATION_NOT_FOUND`. */
  error?: string;
  /** The latest outcome of each URL that was ever tried; a URL is named by a hash. */
  outcomes: readonly UrlOutcome[];
}

/** A URL changed its state, as seen by this process. */
export interface EndpointEvent {
  /**
   * `down`: five requests in a row failed, and its messages are held back. `exhausted`: the first message
   * since it last took one has failed for good. `up`: after either, it takes events again.
   */
  type: 'down' | 'exhausted' | 'up';
  /** The destination's id. */
  destination: string;
  /** Origin of the URL, such as `https://hooks.example.com`. */
  origin: string;
  /** Hash of the URL, as in the outcomes. */
  url: string;
  /** When the first request failed since it last took an event, in milliseconds since the epoch. */
  since: number;
  /** Requests that failed since then. */
  failures: number;
  /** Messages that failed for good since then. */
  failedMessages: number;
  /** Status of the latest response, when there was one. */
  status?: number;
  /** Code of the latest error, when there was no response: `TIMEOUT`, `ECONNREFUSED`, … */
  error?: string;
}

/** What this process tells the application of its deliveries. */
export class DeliveryEvents {
  readonly outcomes: EventChannel<MessageOutcome>;
  readonly endpoints: EventChannel<EndpointEvent>;

  constructor(logger: { error(message: string): void }) {
    this.outcomes = new EventChannel(tellOnce('outcomes$', logger));
    this.endpoints = new EventChannel(tellOnce('endpoints$', logger));
  }

  /** Nothing is delivered here any more. */
  complete(): void {
    this.outcomes.complete();
    this.endpoints.complete();
  }
}

/** One line for each place that throws, not one for each event. */
function tellOnce(stream: string, logger: { error(message: string): void }): (error: unknown) => void {
  const told = new Set<string>();
  return (error) => {
    const thrown = thrownAt(error);
    if (told.has(thrown)) return;
    told.add(thrown);
    logger.error(`A subscriber of \`${stream}\` threw ${thrown}. Delivery goes on; correct the subscriber.`);
  };
}

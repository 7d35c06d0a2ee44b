import type { Observable } from 'rxjs';
import type { DeliveryEvents, EndpointEvent, MessageOutcome } from './delivery/delivery-events.js';
import type { FailedFilter, FailedMessage } from './delivery/failed-filter.js';
import type { FailedMessages, FailedQuery } from './delivery/failed-messages.js';
import { countMessages, type MessageCounts } from './delivery/message-counts.js';
import type { DestinationRegistry } from './destinations/destination-registry.js';
import type { TestResult } from './destinations/webhooks/endpoint.js';
import type { ExplainedRequest } from './destinations/webhooks/explained-request.js';
import { WebhooksDestination } from './destinations/webhooks/webhooks-destination.js';
import { DestinationNotFoundError } from './errors/destination-not-found.error.js';
import type { BatchStore } from './queue/batch-store.js';

/**
 * What becomes of the messages: as it happens in this process, and as the queue of all processes holds it.
 *
 * What reads the queue speaks of messages, not of jobs, so it reads the jobs: ten at a time, in about a
 * second for 10,000 of them. While the queue cannot be reached it waits for it, or rejects.
 */
export class DeliveriesService {
  /**
   * What each message came to at each attempt that this process made, URL by URL: also which URL failed
   * while another one took it. Told once the queue knows it too. What a subscriber throws is logged and
   * harms nobody; after an operator such as `map`, subscribe with an `error` too, as always with rxjs.
   * Completes at shutdown.
   */
  readonly outcomes$: Observable<MessageOutcome>;

  /**
   * URLs that went down, came back, or have exhausted their first message, as seen by this process: for
   * telling their owner. Completes at shutdown.
   */
  readonly endpoints$: Observable<EndpointEvent>;

  constructor(
    private readonly store: BatchStore,
    private readonly failedMessages: FailedMessages,
    private readonly destinations: DestinationRegistry,
    events: DeliveryEvents,
  ) {
    this.outcomes$ = events.outcomes.events$;
    this.endpoints$ = events.endpoints.events$;
  }

  /** Counts the messages in the queue, over all destinations. A queue that works meanwhile is counted roughly. */
  counts(): Promise<MessageCounts> {
    return countMessages(this.store);
  }

  /**
   * The messages that failed for good and are kept, with what each URL answered: the latest first, from
   * position `start` to position `end`. Those whose batch is still being tried for its other messages
   * come last.
   *
   * @example
   * await deliveries.failed({ destination: 'crm', status: 404, from: yesterday })
   */
  failed(query: FailedQuery = {}): Promise<FailedMessage[]> {
    return this.failedMessages.list(query);
  }

  /**
   * Delivers messages again that failed for good: all, or those that match. They keep their messageId,
   * and every URL is tried, for a new retry window. Returns how many there are; messages whose batch is
   * still being tried for its other messages are left for later.
   *
   * @throws DestinationNotFoundError when the filter names a destination that is not configured
   *
   * @example
   * await deliveries.replay({ destination: 'crm', status: 404 })
   */
  replay(filter: FailedFilter = {}): Promise<number> {
    return this.failedMessages.replay(filter);
  }

  /**
   * Sends a test event to each URL of a webhooks destination at once, outside the queue: a signed `track`
   * named `Test Event`. Returns what each answered, and how long each phase of the request took.
   *
   * @throws DestinationNotFoundError
   */
  async sendTest(destination: string): Promise<TestResult[]> {
    return (await this.webhooks(destination)).sendTest();
  }

  /**
   * Tells what would be sent for a message to each URL of its destination: the bytes, the headers, the
   * signature, and a line for `curl`. Sends nothing, and shows no secret that signs. Takes what `failed()`
   * returns.
   *
   * @throws DestinationNotFoundError
   */
  async explain(message: {
    destination: string;
    messageId: string;
    body: string;
  }): Promise<ExplainedRequest[]> {
    return (await this.webhooks(message.destination)).explain(message);
  }

  private async webhooks(id: string): Promise<WebhooksDestination> {
    const destination = await this.destinations.find(id);
    if (destination instanceof WebhooksDestination) return destination;
    throw new DestinationNotFoundError(id);
  }
}

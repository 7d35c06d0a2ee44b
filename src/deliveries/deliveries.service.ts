import type { Observable } from 'rxjs';
import type { DeliveryEvents, EndpointEvent, MessageOutcome } from './delivery-events.js';
import type { FailedFilter, FailedMessage } from './failed-filter.js';
import type { FailedCountQuery, FailedMessages, FailedQuery } from './failed-messages.js';
import { checkFilter } from './filter-check.js';
import type { DeliveryHistory } from './history/delivery-history.js';
import type {
  HourRange,
  HourStats,
  HourTotals,
  MinuteTotals,
  RecentDelivery,
  RecentQuery,
  StatsQuery,
} from './history/history.types.js';
import { countMessages, type MessageCounts } from './message-counts.js';
import type { DestinationRegistry } from '../destinations/destination-registry.js';
import type { TestResult } from '../webhooks/endpoint.js';
import type { ExplainedRequest } from '../webhooks/diagnostics/explained-request.js';
import type { WebhooksDestination } from '../webhooks/webhooks-destination.js';
import {
  DestinationNotFoundError,
  HistoryDisabledError,
  NotAWebhookError,
} from '../errors/delivery.errors.js';
import type { BatchStore } from '../queue/batch-store.js';
import type { WhileOpen } from '../shared/application-end.js';

export interface DeliveriesParts {
  store: BatchStore;
  failedMessages: FailedMessages;
  destinations: DestinationRegistry;
  /** `undefined` in an application that keeps none. */
  history: DeliveryHistory | undefined;
}

/**
 * What becomes of messages: live in this process, and as stored in the queue that all processes share. The
 * methods that read the queue count messages, not jobs, so they read the jobs: ten at a time, about a second
 * for 10,000. With a `destination`, jobs for others alone are not read. While the queue cannot be reached, they
 * wait or reject. Every method rejects with `AnalyticsClosedError` once the application has shut down.
 */
export class DeliveriesService {
  /**
   * The result of each message at each attempt that this process made, URL by URL, including URLs that failed
   * while another one took the message. `retry` and `failed` are emitted once the queue knows the result too,
   * `delivered` perhaps before: after a crash at that moment it comes again. Errors that a subscriber throws are
   * logged and harm nobody else, also behind `pipe`. What an operator such as `map` throws ends that subscription:
   * it goes to its `error` handler, or to the log. Completes at shutdown.
   */
  readonly outcomes$: Observable<MessageOutcome>;

  /**
   * Emits when a URL goes down, comes back, or has its first message fail for good, when a destination at run time
   * is about to be disabled or is disabled for that, and when a destination reaches its `backlogLimit` or has room
   * again, as seen by this process. Use it to notify the owner. Errors of subscribers are treated as those of
   * `outcomes$`. Completes at shutdown.
   */
  readonly endpoints$: Observable<EndpointEvent>;

  constructor(
    private readonly parts: WhileOpen<DeliveriesParts>,
    events: DeliveryEvents,
  ) {
    this.outcomes$ = events.outcomes.events$;
    this.endpoints$ = events.endpoints.events$;
  }

  /**
   * Counts the messages in the queue, over all destinations. The count is approximate while the queue is
   * working.
   */
  async counts(): Promise<MessageCounts> {
    return countMessages(this.parts().store);
  }

  /**
   * The messages that failed for good and are kept, with what each URL answered: the latest first, from
   * position `start` to position `end`. Messages whose batch is still retried for other messages come last, and
   * not at all with `waiting: false`: what waits is then not read, which costs little where much waits.
   *
   * @throws InvalidFilterError
   *
   * @example
   * await deliveries.failed({ destination: 'crm', status: 404, from: yesterday })
   */
  async failed(query: FailedQuery = {}): Promise<FailedMessage[]> {
    const { failedMessages } = this.parts();
    checkFilter(query, 'failed');
    return failedMessages.list(query);
  }

  /**
   * Delivers messages again that failed for good: all, or those that match. They keep their messageId, and
   * every URL is tried, for a new retry window. Returns how many there are; messages whose batch is still
   * retried for other messages are left out, those of destinations that are gone, are disabled, have wrong fields, or
   * have secrets that cannot be decrypted, and, unless the filter has `error: 'OTHER_APPLICATION'`, those that another
   * application has queued.
   *
   * @throws InvalidFilterError, also where `destination` or `messageIds` is `undefined`: leave it out to mean all;
   *   DestinationNotFoundError, InvalidDestinationError, DestinationKeyError when the filter names such a destination;
   *   ReplayIncompleteError after everything else was replayed, if destinations could not be looked up
   *
   * @example
   * await deliveries.replay({ destination: 'crm', status: 404 })
   * await deliveries.replay({ destination: 'crm', messageIds: ['msg_1', 'msg_2'] })
   */
  async replay(filter: FailedFilter = {}): Promise<number> {
    const { failedMessages } = this.parts();
    checkFilter(filter, 'replay');
    return failedMessages.replay(filter);
  }

  /**
   * How many messages match the filter: ask before you replay. Messages whose destination is
   * gone, is disabled, has wrong fields or cannot be decrypted, those that cannot be read, and those that another
   * application has queued, count here and are left alone by `replay`.
   *
   * @throws InvalidFilterError
   */
  async countFailed(query: FailedCountQuery = {}): Promise<number> {
    const { failedMessages } = this.parts();
    checkFilter(query, 'countFailed');
    return failedMessages.count(query);
  }

  /**
   * Sends a test event to each URL of a webhooks destination at once, outside the queue: a signed `track`
   * named `Test Event`. Returns what each answered, and how long each phase of the request took.
   *
   * @throws DestinationNotFoundError, NotAWebhookError, InvalidDestinationError, DestinationKeyError
   */
  async sendTest(destination: string): Promise<TestResult[]> {
    return (await this.webhooks(destination)).sendTest();
  }

  /**
   * Returns what would be sent for a message to each URL of its destination: the bytes, the headers, the
   * signature, and a `curl` command. Sends nothing, and shows no signing secret. Accepts what `failed()`
   * returns.
   *
   * @throws DestinationNotFoundError, NotAWebhookError, InvalidDestinationError, DestinationKeyError
   */
  async explain(message: {
    destination: string;
    messageId: string;
    body: string;
  }): Promise<ExplainedRequest[]> {
    return (await this.webhooks(message.destination)).explain(message);
  }

  /**
   * The latest deliveries of a destination, over all processes: one entry for each message, with its attempts,
   * the latest first. At most 100 of the last seven days; they appear some two seconds after the attempt. Of a
   * message, its id, its type and the name of its event are kept, and of each answer its first 256 characters, which
   * may hold what the receiver repeats of the message. `delete` removes nothing here: an entry goes after seven days.
   *
   * @throws DestinationNotFoundError, also for a destination of another tenant; InvalidFilterError, also for a `tenant`
   *   that is `undefined`; HistoryDisabledError with the option `history: false`
   *
   * @example
   * await deliveries.recent({ destination: id, tenant: 'acme', limit: 20 })
   */
  async recent(query: RecentQuery): Promise<RecentDelivery[]> {
    const { kept } = this;
    checkFilter(query, 'recent');
    return kept.recent(query);
  }

  /**
   * What happened at a destination in each hour of the last seven days, over all processes: messages that were
   * delivered, put back for a retry, and failed for good, and how long the attempts took. The oldest hour first,
   * including those in which nothing happened.
   *
   * @throws DestinationNotFoundError, also for a destination of another tenant; InvalidFilterError, also for a `tenant`
   *   that is `undefined`; HistoryDisabledError with the option `history: false`
   *
   * @example
   * await deliveries.stats({ destination: id, tenant: 'acme', from: yesterday })
   */
  async stats(query: StatsQuery): Promise<HourStats[]> {
    const { kept } = this;
    checkFilter(query, 'stats');
    return kept.stats(query);
  }

  /**
   * The same for all destinations together, those of all tenants and those that were deleted, with how many
   * messages waited. Processes with a worker look at that every ten seconds, even while nothing is delivered.
   *
   * @throws InvalidFilterError; HistoryDisabledError with the option `history: false`
   */
  async totals(range: HourRange = {}): Promise<HourTotals[]> {
    const { kept } = this;
    checkFilter(range, 'totals');
    return kept.totals(range);
  }

  /**
   * What `totals` returns, for each minute of the last hour: 60 of them, the oldest first, the minute that has begun
   * included, without durations.
   *
   * @throws HistoryDisabledError with the option `history: false`
   */
  async totalsByMinute(): Promise<MinuteTotals[]> {
    return this.kept.totalsByMinute();
  }

  private get kept(): DeliveryHistory {
    const { history } = this.parts();
    if (history === undefined) throw new HistoryDisabledError();
    return history;
  }

  private async webhooks(id: string): Promise<WebhooksDestination> {
    const { destinations } = this.parts();
    const { WebhooksDestination } = await import('../webhooks/webhooks-destination.js');
    const destination = await destinations.find(id);
    if (destination instanceof WebhooksDestination) return destination;
    throw destination === undefined ? new DestinationNotFoundError(id) : new NotAWebhookError(id);
  }
}

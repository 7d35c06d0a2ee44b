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
  /** `undefined` if the application keeps no history. */
  history: DeliveryHistory | undefined;
}

/**
 * Shows what becomes of messages: live in this process, and as stored in the queue that all processes share. The
 * methods that read the queue count messages, not jobs, so they read the jobs: ten at a time, 10,000 in about a second.
 * With a `destination`, jobs that are only for others are not read. While the queue cannot be reached, these methods
 * wait or reject. Every method rejects with `AnalyticsClosedError` once the application has shut down.
 */
export class DeliveriesService {
  /**
   * Emits the result of each message at each attempt that this process made, URL by URL, including URLs that failed
   * while another URL took the message. `retry` and `failed` are emitted once the queue knows the result too.
   * `delivered` may be emitted before that, and is emitted again after a crash at that moment. Errors that a subscriber
   * throws are logged and affect nobody else, also behind `pipe`. An error that an operator such as `map` throws ends
   * that subscription, and goes to its `error` handler or, without a handler, to the log. Completes at shutdown.
   */
  readonly outcomes$: Observable<MessageOutcome>;

  /**
   * Emits when a URL goes down, comes back, or has its first message fail for good; when a destination that was added
   * at run time is about to be disabled, or is disabled, since it takes no messages; and when a destination reaches its
   * `backlogLimit` or has room again. All as seen by this process. Use it to notify the owner. Errors of subscribers
   * are treated like those of `outcomes$`. Completes at shutdown.
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
   * Returns the messages that failed for good and are kept, with what each URL answered: the latest first, from
   * position `start` to position `end`. Messages whose batch is still retried for other messages come last. With
   * `waiting: false` they are left out and waiting jobs are not read, which saves much time if many wait. With
   * `bodies: false` their bodies are empty.
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
   * Delivers messages again that failed for good: all, or those that match. They keep their messageId, and every URL is
   * tried, for a new retry window. Returns the number of these messages. The following are left out: messages whose
   * batch is still retried for other messages; messages of destinations that do not exist, are disabled, have wrong
   * fields, or have secrets that cannot be decrypted; and, unless the filter has `error: 'OTHER_APPLICATION'`, messages
   * that another application has queued.
   *
   * @throws InvalidFilterError, also if `destination` or `messageIds` is `undefined`: leave it out to mean all;
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
   * Returns how many messages match the filter: ask before you replay. The count includes messages that `replay` leaves
   * alone: those whose destination does not exist, is disabled, has wrong fields or has secrets that cannot be
   * decrypted, those that cannot be read, and those that another application has queued.
   *
   * @throws InvalidFilterError
   */
  async countFailed(query: FailedCountQuery = {}): Promise<number> {
    const { failedMessages } = this.parts();
    checkFilter(query, 'countFailed');
    return failedMessages.count(query);
  }

  /**
   * Sends a signed test event to each URL of a webhooks destination at once, outside the queue: a `track`
   * named `Test Event`. Returns the answer of each URL, and how long each phase of the request took.
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
   * Returns the latest deliveries of a destination, over all processes: one entry for each message, with its attempts,
   * the latest first. At most 100 entries of the last seven days are kept. An entry appears some two seconds after the
   * attempt. It has the id, the type and the event name of the message, and the first 256 characters of each answer, in
   * which the receiver may repeat data of the message. `delete` removes no entries: each expires after seven days.
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
   * Returns what happened at a destination in each hour of the last seven days, over all processes: how many messages
   * were delivered, had to be retried, and failed for good, and how long the attempts took. The oldest hour comes
   * first. Hours in which nothing happened are included.
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
   * Returns the same for all destinations together, including deleted ones and those of all tenants, and how many
   * messages waited. Processes with a worker count these every ten seconds, even while nothing is delivered.
   *
   * @throws InvalidFilterError; HistoryDisabledError with the option `history: false`
   */
  async totals(range: HourRange = {}): Promise<HourTotals[]> {
    const { kept } = this;
    checkFilter(range, 'totals');
    return kept.totals(range);
  }

  /**
   * Returns the same as `totals`, but without durations, for each minute of the last hour: 60 minutes including the
   * current one, the oldest first.
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

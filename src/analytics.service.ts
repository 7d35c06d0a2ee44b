import type { AnalyticsClient } from './client/analytics-client.js';
import type { DeletionSources } from './client/deletions.js';
import type { FlushOptions, FlushResult } from './client/flush-result.js';
import type { SourceUsage } from './client/source-usage.js';
import type { OutboxExecutor } from './client/message-store.js';
import { UnknownSourceError } from './errors/message.errors.js';
import type {
  AliasParams,
  DeleteParams,
  GroupParams,
  IdentifyParams,
  PageParams,
  ScreenParams,
  TrackParams,
} from './messages/message-params.types.js';
import { unexpected } from './messages/message-checks.js';
import type { AnalyticsStatus } from './observability/analytics-status.js';
import { TransactionalAnalytics } from './outbox/transactional-analytics.js';
import { isJsonObject } from './messages/value-kind.js';
import { isTenantName, TENANT_NAME } from './options/tenant-name.js';

/** Options of a deletion. */
export type DeletionParams = DeleteParams & {
  /** Names of the sources to delete the user from. @default all, including those that there were before */
  sources?: readonly string[] | undefined;
};

/**
 * The analytics client. Each call checks its fields, takes a snapshot of them, and returns the messageId at
 * once: it never makes a request itself. Messages are then batched, queued and delivered.
 *
 * Every call throws `InvalidMessageError` for input that cannot be sent, `MessageTooLargeError` above 32 KB,
 * `EventViolationError` for an event that breaks its schema with `onViolation: 'throw'`, and `AnalyticsClosedError`
 * after the application has shut down. A full buffer does not throw: the message is counted as refused, and `flush()`
 * returns the count.
 */
export class AnalyticsService {
  /**
   * @param sources names of the sources of this application
   * @param readStatus reads the state of analytics in this process
   * @param boundTo the source of the calls; the first source if none is named
   * @param boundTenant the tenant that the calls belong to
   */
  constructor(
    private readonly client: AnalyticsClient,
    private readonly sources: readonly [string, ...string[]],
    private readonly readStatus: () => AnalyticsStatus,
    private readonly boundTo?: string,
    private readonly boundTenant?: string,
  ) {}

  /** Ties a user to traits: once when the account is created, and again when traits change. */
  identify(params: IdentifyParams): string {
    return this.client.take(this.name, 'identify', params, this.boundTenant);
  }

  /** Records what a user did. */
  track(params: TrackParams): string {
    return this.client.take(this.name, 'track', params, this.boundTenant);
  }

  /** Records a page view. `traits` is another name for `properties`, which wins if both are given. */
  page(params: PageParams): string {
    return this.client.take(this.name, 'page', params, this.boundTenant);
  }

  /** Records a screen view of a mobile app. */
  screen(params: ScreenParams): string {
    return this.client.take(this.name, 'screen', params, this.boundTenant);
  }

  /** Associates a user with a group (a company, an account, a team) and records the group's traits. */
  group(params: GroupParams): string {
    return this.client.take(this.name, 'group', params, this.boundTenant);
  }

  /** Links an identity to another one: `previousId` is the old id, usually the anonymous id. */
  alias(params: AliasParams): string {
    return this.client.take(this.name, 'alias', params, this.boundTenant);
  }

  /**
   * Requests the deletion of a user. Sends one message for each source, or for each of the given `sources`, that a
   * destination is connected to; if there is none, for the first source. Each message has its own messageId; the first
   * messageId is returned. A service bound to a source by `source(name)` deletes from that source only, and a service
   * bound to a tenant by `tenant(id)` deletes that tenant's user. Without either, and without `sources`, the user is
   * removed from everything that is stored.
   *
   * @throws UnknownSourceError
   */
  delete(params: DeletionParams): string {
    return this.client.deletions.take(this.sourcesOf(params), params, this.boundTenant);
  }

  /** Returns how many calls this source has received since this process started, and how many its `schema` filtered. */
  usage(): SourceUsage {
    return this.client.usageOf(this.name);
  }

  /**
   * Returns the state of analytics in this process: whether the queue can be used, what is in memory, what was
   * refused, and which URLs are down. Reads memory only; `AnalyticsHealthIndicator` asks the queue too.
   */
  status(): AnalyticsStatus {
    return this.readStatus();
  }

  /**
   * Waits until every message that was taken before the call is in the queue, and resolves to the result. Calls may
   * overlap. Without a timeout, the call waits for as long as the queue cannot be reached. While classes of custom
   * destinations are not instantiated yet, that is before `onModuleInit` of this module, it does not wait:
   * everything is `pending`.
   *
   * @throws InvalidMessageError when the timeout is not a number of milliseconds, 0 or more
   */
  flush(options?: FlushOptions): Promise<FlushResult> {
    return this.client.flush(options);
  }

  /**
   * Returns the same client, bound to another source.
   *
   * @throws UnknownSourceError
   */
  source(name: string): AnalyticsService {
    this.client.assertOpen();
    if (!this.sources.includes(name)) throw new UnknownSourceError(name, this.sources);
    return new AnalyticsService(this.client, this.sources, this.readStatus, name, this.boundTenant);
  }

  /**
   * Returns the same client for the events of a tenant: its messages also go to the destinations of that tenant, and
   * carry the tenant as `context.groupId`.
   *
   * @throws InvalidMessageError for an id that no tenant can have
   */
  tenant(id: string): AnalyticsService {
    this.client.assertOpen();
    if (!isTenantName(id)) throw unexpected('tenant', TENANT_NAME, id);
    return new AnalyticsService(this.client, this.sources, this.readStatus, this.boundTo, id);
  }

  /**
   * Returns the same client in a transaction of the caller: its calls write to the outbox, a table in the caller's
   * database. Messages are delivered if the transaction is committed, and only then.
   *
   * @example await analytics.within(fromTypeOrm(manager)).track({ userId, event: 'Order Completed' })
   * @param executor runs statements in the transaction: a client of `pg`, or what an adapter such as
   *   `fromTypeOrm` returns
   * @throws OutboxNotConfiguredError, InvalidExecutorError
   */
  within(executor: OutboxExecutor): TransactionalAnalytics<DeletionParams> {
    this.client.assertOpen();
    return new TransactionalAnalytics(this.client, executor, {
      source: this.name,
      tenant: this.boundTenant,
      ofDeletion: (params: DeletionParams) => this.sourcesOf(params),
    });
  }

  private sourcesOf(params: DeletionParams): DeletionSources {
    // Untyped code may pass anything. A value that is not an object is refused together with the other fields.
    const given: unknown = isJsonObject(params) ? params.sources : undefined;
    if (given === undefined && this.boundTo === undefined) return { names: this.sources, areAll: true };
    if (given === undefined) return { names: [this.name], areAll: false };
    const [first, ...rest] = new Set(isList(given) ? given : []);
    if (first === undefined) throw unexpected('sources', 'an array of at least one source name', given);
    const names = [this.affected(first), ...rest.map((name) => this.affected(name))] as const;
    return { names, areAll: false };
  }

  private affected(source: unknown): string {
    const known = this.boundTo === undefined ? this.sources : [this.boundTo];
    const name = known.find((one) => one === source);
    if (name === undefined) throw new UnknownSourceError(String(source), known);
    return name;
  }

  private get name(): string {
    return this.boundTo ?? this.sources[0];
  }
}

function isList(value: unknown): value is unknown[] {
  return Array.isArray(value);
}

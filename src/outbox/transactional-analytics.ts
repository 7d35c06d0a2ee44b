import type { AnalyticsClient } from '../client/analytics-client.js';
import type { DeletionSources } from '../client/deletions.js';
import type { MessageStore, OutboxExecutor, StoredTerms } from '../client/message-store.js';
import { InvalidExecutorError, OutboxNotConfiguredError } from '../errors/outbox.errors.js';
import type {
  AliasParams,
  DeleteParams,
  GroupParams,
  IdentifyParams,
  MessageParams,
  PageParams,
  ScreenParams,
  TrackParams,
} from '../messages/message-params.types.js';
import type { MessageType } from '../messages/message.types.js';

/** The source or sources that calls are for. */
export interface CallSources<D extends DeleteParams> {
  /** Name of the source of all calls but `delete`. */
  source: string;
  /** Tenant of the events, if the caller names one. */
  tenant: string | undefined;
  /** Returns the sources that a deletion is for. @throws UnknownSourceError */
  ofDeletion(params: D): DeletionSources;
}

/**
 * The analytics client in a transaction of the caller. Each call does what the same call of
 * `AnalyticsService` does, but stores the message in the outbox with the caller's executor. The message is
 * delivered if the transaction is committed, and discarded if the transaction is rolled back. Each call resolves
 * to the messageId once the row is written, and rejects with what `AnalyticsService` throws, or with the
 * executor's own error.
 */
export class TransactionalAnalytics<D extends DeleteParams = DeleteParams> {
  private readonly store: MessageStore;

  /** @throws OutboxNotConfiguredError, InvalidExecutorError */
  constructor(
    private readonly client: AnalyticsClient,
    private readonly executor: OutboxExecutor,
    private readonly sources: CallSources<D>,
  ) {
    if (client.messageStore === undefined) throw new OutboxNotConfiguredError();
    // Untyped code may pass anything, and a transaction that was not wrapped is a common mistake.
    const given: unknown = executor;
    const isExecutor = typeof given === 'object' && given !== null && 'query' in given;
    if (!isExecutor || typeof given.query !== 'function') throw new InvalidExecutorError();
    this.store = client.messageStore;
  }

  /** Ties a user to traits. */
  identify(params: IdentifyParams): Promise<string> {
    return this.write(this.sources.source, 'identify', params);
  }

  /** Records what a user did. */
  track(params: TrackParams): Promise<string> {
    return this.write(this.sources.source, 'track', params);
  }

  /** Records a page view. */
  page(params: PageParams): Promise<string> {
    return this.write(this.sources.source, 'page', params);
  }

  /** Records a screen view of a mobile app. */
  screen(params: ScreenParams): Promise<string> {
    return this.write(this.sources.source, 'screen', params);
  }

  /** Associates a user with a group and records the group's traits. */
  group(params: GroupParams): Promise<string> {
    return this.write(this.sources.source, 'group', params);
  }

  /** Links one identity to another. */
  alias(params: AliasParams): Promise<string> {
    return this.write(this.sources.source, 'alias', params);
  }

  /** Requests the deletion of a user, which begins when the transaction is committed. */
  async delete(params: D): Promise<string> {
    const sources = this.sources.ofDeletion(params);
    const [first, ...others] = this.client.deletions.affectedBy(sources);
    const terms = this.client.deletions.termsOf(sources, this.sources.tenant);
    const messageId = await this.write(first, 'delete', params, terms);
    for (const source of others) await this.write(source, 'delete', params, terms);
    this.client.deletions.refuseForwarded();
    return messageId;
  }

  /** Writes a message. Everything is checked and copied before the first statement. */
  private async write<T extends MessageType>(
    source: string,
    type: T,
    params: MessageParams[T],
    terms: Omit<StoredTerms, 'tenant' | 'meantFor'> = {},
  ): Promise<string> {
    const { messageId, message, tenant } = this.client.prepare(source, type, params, this.sources.tenant);
    if (message !== null) {
      const meantFor = this.client.configured(source, message)?.map(({ destination }) => destination);
      await this.store.write(this.executor, { source, message, terms: { tenant, meantFor, ...terms } });
    }
    return messageId;
  }
}

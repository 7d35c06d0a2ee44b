import type { MessageParams } from '../messages/message-params.types.js';
import type { AnalyticsMessage, MessageType } from '../messages/message.types.js';
import { createClientCore, type MessageCore } from './client-core.js';
import type { AnalyticsClientOptions, AnalyticsClientParts } from './analytics-client.types.js';
import { AwaitedCalls } from './awaited-calls.js';
import { CallReach } from './call-reach.js';
import type { ClientCoreObserver, Losses } from './client-core.types.js';
import { Deletions } from './deletions.js';
import type { OutgoingMessage } from './outgoing-messages.js';
import { type FlushOptions, type FlushResult, timeoutOf } from './flush-result.js';
import { LiveCalls } from './live-calls.js';
import { type CreatedMessage, MessageFactory, type PreparedMessage } from './message-factory.js';
import { MessageFilter } from './message-filter.js';
import type { MessageStore } from './message-store.js';
import { ReceivedMessages } from './received-messages.js';
import { Refusals } from './refusals.js';
import type { Route, SourceConnection } from './router.js';
import type { SourceUsage } from './source-usage.js';

/** Turns calls into messages, and makes sure that every message taken gets into the queue. */
export class AnalyticsClient {
  private readonly factory: MessageFactory;
  private readonly refusals: Refusals;
  private readonly filter: MessageFilter;
  private readonly core: MessageCore;
  readonly deletions: Deletions;
  /** Shows what became of each call. */
  readonly live: LiveCalls;
  /** Takes messages that other programs send. */
  readonly received: ReceivedMessages;
  /** Takes calls whose caller waits until they are in the queue. */
  readonly awaited: AwaitedCalls;
  readonly reach: CallReach;
  /** Where calls in a transaction are stored. */
  readonly messageStore: MessageStore | undefined;

  constructor(
    private readonly parts: AnalyticsClientParts,
    private readonly options: AnalyticsClientOptions,
  ) {
    const { observer, store, live, createCore = createClientCore } = parts;
    this.messageStore = store;
    this.factory = new MessageFactory(options);
    this.refusals = new Refusals(observer, parts.telemetry);
    this.filter = new MessageFilter(options, this.refusals);
    this.live = new LiveCalls(live, options.beforeSend !== undefined);
    this.core = createCore(parts, options, {
      onRefused: this.onRefused,
      isWatched: () => this.live.isWatched,
      onRouted: this.live.routed.bind(this.live),
      onAddFailed: observer.onAddFailed.bind(observer),
    });
    this.deletions = new Deletions(
      (source, deletion, tenant) => this.taken(source, 'delete', deletion, tenant),
      parts.router,
      this.refusals,
      options.onDeletion,
    );
    this.awaited = new AwaitedCalls(this.core, this.factory, this.filter, this.refusals, parts.clock);
    this.reach = new CallReach(this.core.outgoing, this.factory, parts.clock);
    this.received = new ReceivedMessages(this.core, this.factory, this.filter, this.refusals, this.live);
  }

  /** @throws AnalyticsClosedError after the shutdown */
  assertOpen(): void {
    this.core.assertOpen();
  }

  /** Messages in memory that are not in the queue yet. */
  get pending(): number {
    return this.core.size;
  }

  /** Bytes of the pending messages' bodies. A body counts once per destination. */
  get pendingBytes(): number {
    return this.core.buffered.total;
  }

  /** Messages refused since the start. */
  get refused(): number {
    return this.refusals.total;
  }

  /**
   * Takes one call: checks, stamps, routes and serialises it, and returns its messageId at once.
   *
   * @param boundTo tenant of the event. @default that of the source, else as the message says
   * @throws InvalidMessageError, MessageTooLargeError, AnalyticsClosedError, EventViolationError
   */
  take<T extends MessageType>(source: string, type: T, params: MessageParams[T], boundTo?: string): string {
    return this.taken(source, type, params, boundTo).messageId;
  }

  /**
   * Checks and counts a call as `take` does, for a message that is stored elsewhere first. The returned `message` is
   * `null` if there is nothing to store.
   *
   * @throws as `take`
   */
  prepare<T extends MessageType>(
    source: string,
    type: T,
    params: MessageParams[T],
    boundTo?: string,
  ): PreparedMessage {
    const prepared = this.checked(source, type, params, boundTo);
    const { message, tenant, spareContext } = prepared;
    if (message === null) return prepared;
    const { route } = this.core.outgoing.of(source, message, { tenant, spareContext, isStored: true });
    if ('connections' in route) {
      this.core.outgoing.taken(source, message, route, tenant);
      if (route.connections.length > 0 || this.deletions.hasMoreToDo(message)) return prepared;
      this.live.routed({ source, tenant, message }, false);
      return { ...prepared, message: null };
    }
    // The destinations are looked up again when the stored message is moved to the queue.
    this.core.outgoing.abandon(route);
    this.core.outgoing.taken(source, message, undefined, tenant);
    return prepared;
  }

  /** Returns a stored message as it goes to the queue, with its route. */
  outgoing(source: string, message: AnalyticsMessage, tenant?: string): OutgoingMessage {
    return this.core.outgoing.of(source, message, { tenant, maxBytes: Infinity });
  }

  /** Returns a message's connections to destinations in the options; `undefined` while unknown. */
  configured(source: string, message: AnalyticsMessage): readonly SourceConnection[] | undefined {
    return this.core.outgoing.configured(source, message);
  }

  /** Returns the tenant whose destinations are looked up for a stored message; `''` if none. */
  ownerOf(message: AnalyticsMessage, tenant?: string): string {
    return this.core.outgoing.ownerOf(message, tenant);
  }

  /** Abandons a stored message's route, which nobody waits for any longer. */
  abandon(route: Promise<Route>): void {
    this.core.outgoing.abandon(route);
  }

  /** Makes a message without the current request's context, and does not take it. @throws InvalidMessageError */
  ofJob<T extends MessageType>(source: string, type: T, params: MessageParams[T]): CreatedMessage {
    return this.factory.ofJob(source, type, params);
  }

  /** Returns what a source has taken since the start. @throws AnalyticsClosedError */
  usageOf(source: string): SourceUsage {
    this.core.assertOpen();
    return { ...this.core.outgoing.usageOf(source) };
  }

  /**
   * Resolves when everything taken before the call is in the queue, or after the timeout. Resolves at once until the
   * application has made its destinations, since making them may wait for this flush.
   *
   * @throws InvalidMessageError for an invalid timeout, AnalyticsClosedError
   */
  async flush(options?: FlushOptions): Promise<FlushResult> {
    this.core.assertOpen();
    const timeout = timeoutOf(options);
    const flush = this.refusals.begin(this.core.last);
    const { queued, pending } = await this.core.flush(this.parts.router.isReady ? timeout : 0);
    this.refusals.end(flush);
    return { queued, refused: flush.refused, pending };
  }

  /**
   * Prepares for the shutdown. From now on, messages go to the queue without waiting to be batched, and waits for
   * messages end after `patience` milliseconds. A wait that begins after that takes a second at most.
   */
  drain(patience: number): void {
    this.core.drain(patience);
  }

  /** Takes no more messages, and hands over the remaining ones within `patience` milliseconds. */
  async close(patience: number): Promise<void> {
    await this.core.close(patience);
    this.parts.observer.onClosed();
  }

  /** Messages that were given up at the end. An add in flight may still succeed, so read this late. */
  get losses(): Losses {
    return this.core.losses;
  }

  private readonly onRefused: ClientCoreObserver['onRefused'] = (refusals, call, number) => {
    this.refusals.add(refusals, { number, isAnswered: call.isAnswered });
    this.live.refused(call, refusals);
  };

  /** Takes one call, and returns it as a prepared message. */
  private taken<T extends MessageType>(
    source: string,
    type: T,
    params: MessageParams[T],
    boundTo: string | undefined,
  ): PreparedMessage {
    const prepared = this.checked(source, type, params, boundTo);
    const { message, tenant, spareContext } = prepared;
    if (message === null) return prepared;
    try {
      const refusals = this.core.take(source, message, { tenant, spareContext });
      this.refusals.add(refusals);
      this.live.refused({ source, tenant, message }, refusals);
      return prepared;
    } catch (error) {
      return this.live.failed({ source, type, fields: params, tenant }, error);
    }
  }

  /** Checks a call. The returned `message` is `null` if the call is dropped or refused. */
  private checked<T extends MessageType>(
    source: string,
    type: T,
    params: MessageParams[T],
    boundTo: string | undefined,
  ): PreparedMessage {
    this.core.assertOpen();
    try {
      const { message, tenant, spareContext } = this.factory.ofCall(source, type, params, boundTo);
      this.options.onCall?.(type, params);
      const finished = this.live.passed(this.filter, source, message, tenant);
      return { messageId: (finished ?? message).messageId, message: finished, tenant, spareContext };
    } catch (error) {
      const tenant = boundTo ?? this.factory.tenantOf(source);
      return this.live.failed({ source, type, fields: params, tenant }, error);
    }
  }
}

import debugFactory from 'debug';
import { AnalyticsClosedError } from '../errors/message.errors.js';
import { withoutMessage } from '../live/live-event.js';
import type { AnalyticsMessage } from '../messages/message.types.js';
import { type Clock, SYSTEM_CLOCK, type Timer } from '../shared/clock.js';
import { OwnContext } from '../shared/own-context.js';
import { admit, NO_REFUSALS, NO_ROOM, type Refusal, type TakingTerms } from './admission.js';
import { Backlog, type TakenCall, type TakenMessage, type WaitResult } from './backlog.js';
import { Batches } from './batches.js';
import { BufferedBytes } from './buffered-bytes.js';
import type { ClientCoreObserver, ClientCoreOptions, ClientCoreParts, Losses } from './client-core.types.js';
import { OutgoingMessages } from './outgoing-messages.js';
import { type HeldMessage, PendingRoutes, type RouteReceiver } from './pending-routes.js';
import { PartitionSenders } from './partition-senders.js';
import type { Route, SourceConnection } from './router.js';

const debug = debugFactory('analytics');

/** The core as its client sees it. */
export type MessageCore = Omit<ClientCore, keyof RouteReceiver>;

/** Creates a core that brings messages into the queue. */
export function createClientCore(...parts: ConstructorParameters<typeof ClientCore>): MessageCore {
  return new ClientCore(...parts);
}

/**
 * Brings messages into the queue: each gets a number, is serialised once, routed, batched and handed over.
 * The core first accepts messages. Then it drains: each message goes on at once, and waits are limited in time. Finally
 * it is closed.
 */
export class ClientCore {
  readonly outgoing: OutgoingMessages;
  private state: 'accepting' | 'draining' | 'closed' = 'accepting';
  private readonly clock: Clock;
  private readonly backlog: Backlog;
  private readonly batches: Batches;
  private readonly senders: PartitionSenders;
  private readonly pendingRoutes: PendingRoutes;
  /** Number of the last message before the latest flush. Messages up to it do not wait to be batched. */
  private flushedUpTo = 0;
  private deadline: Timer | undefined;

  constructor(
    private readonly parts: ClientCoreParts,
    options: ClientCoreOptions,
    private readonly observer: ClientCoreObserver,
  ) {
    this.clock = new OwnContext().clock(parts.clock ?? SYSTEM_CLOCK);
    this.outgoing = new OutgoingMessages(parts.router, options, parts.telemetry);
    this.backlog = new Backlog(new BufferedBytes(options.maxBufferedBytes), this.clock);
    const onAddFailed = observer.onAddFailed.bind(observer);
    this.senders = new PartitionSenders(parts.sink, this.clock, { onQueued: this.onQueued, onAddFailed });
    this.batches = new Batches(options, this.clock, (connection, messages) => {
      debug('flushed %d messages of %s for %s', messages.length, connection.source, connection.destination);
      this.senders.send(connection, messages);
    });
    this.pendingRoutes = new PendingRoutes(this, options.maxBufferedBytes / 4);
  }

  /** @throws AnalyticsClosedError */
  assertOpen(): void {
    if (this.state === 'closed') throw new AnalyticsClosedError();
  }

  /** Messages that are not in the queue yet. */
  get size(): number {
    return this.backlog.size;
  }

  /** Bytes of the bodies that are not in the queue yet, and bytes that are free. */
  get buffered(): Pick<BufferedBytes, 'total' | 'free'> {
    return this.backlog.bytes;
  }

  /** Number of the message that was taken last. */
  get last(): number {
    return this.backlog.last;
  }

  /** Whether the message with this number is in the queue. */
  isQueued(number: number): boolean {
    return this.backlog.isQueued(number);
  }

  /**
   * Whether more than half of the buffer is in use with `more` bytes added. Messages that can wait or be sent again are
   * then not taken. Calls whose destinations are being looked up do not count.
   */
  isHalfFull(more = 0): boolean {
    return this.backlog.bytes.isHalfFull(more - this.pendingRoutes.bytesOfCalls);
  }

  /** Whether received messages whose destinations are being looked up take more than half of their limit. */
  get isCrowded(): boolean {
    return this.pendingRoutes.isCrowded;
  }

  /**
   * Takes a message, or returns why it is refused: one reason per destination if all are full. If its destinations have
   * to be looked up, the message may still be refused later, with a call of `onRefused` of the terms.
   *
   * @throws InvalidMessageError, MessageTooLargeError, AnalyticsClosedError
   */
  take(source: string, message: AnalyticsMessage, terms: TakingTerms = {}): readonly Refusal[] {
    this.assertOpen();
    const { tenant, isReceived = false, onRefused, onDropped } = terms;
    const outgoing = this.outgoing.of(source, message, terms);
    const { json: body, bytes, route, tenant: named } = outgoing;
    const isWatched = this.observer.isWatched();
    const at = isWatched ? Date.now() : undefined;
    const traced = this.parts.telemetry?.call();
    const checked = { id: message.messageId, body, bytes, tenant: named, isReceived, call: traced };
    const isAnswered = onRefused !== undefined;
    const call: TakenCall = { source, tenant, message: isWatched ? message : undefined, at, isAnswered };
    if (!('connections' in route)) {
      const owner = this.outgoing.ownerOf(message, tenant);
      const held = { owner, isReceived, onRefused, onDropped, bytes: bytes + outgoing.integrationsBytes };
      const refusal = this.pendingRoutes.refusal(held, this.backlog.bytes.free);
      if (refusal !== undefined) {
        this.outgoing.abandon(route);
        return [refusal];
      }
      this.outgoing.taken(source, message, undefined, tenant);
      const taken = this.backlog.add(checked, 1);
      this.pendingRoutes.add({ taken, call: withoutMessage(call, owner), ...held }, route);
      return NO_REFUSALS;
    }
    const { connections, refusals } = admit(route.connections, this.parts.admission);
    if (connections.length === 0 && refusals.length > 0) return refusals;
    if (!this.backlog.bytes.hasRoomFor(bytes, connections.length, checked)) return [NO_ROOM];
    this.outgoing.taken(source, message, route, tenant);
    if (refusals.length > 0) this.observer.onRefused(refusals, call);
    if (isWatched) this.observer.onRouted(call, connections.length > 0);
    if (connections.length === 0) {
      this.outgoing.dropped(message.messageId);
      onDropped?.();
      return NO_REFUSALS;
    }
    const taken = this.backlog.add(checked, connections.length);
    for (const connection of connections) this.push(connection, taken);
    return NO_REFUSALS;
  }

  /** Flushes, and resolves to `true` when the next message has left, or to `false` when a shutdown ends the wait. */
  room(): Promise<boolean> {
    this.flushNow();
    return this.backlog.room();
  }

  /** Resolves when everything taken so far is in the queue, or after the timeout in milliseconds. */
  flush(timeout?: number): Promise<WaitResult> {
    this.flushNow();
    return this.backlog.wait(timeout);
  }

  /** As `flush`, for the messages after number `after` up to number `upTo`. Resolves to whether all have left. */
  handOver(after: number, upTo: number, timeout: number): Promise<boolean> {
    if (this.flushedUpTo < upTo) this.flushNow();
    return this.backlog.waitFor(after, upTo, timeout);
  }

  /** Gives up received or answered messages that still wait for a look-up. Returns whether there were any. */
  withdraw(after: number, upTo: number): boolean {
    return this.pendingRoutes.withdraw(after, upTo);
  }

  /** Prepares for the shutdown: no message waits to be batched, and waits end after `patience` milliseconds. */
  drain(patience: number): void {
    if (this.state !== 'accepting') return;
    this.state = 'draining';
    this.batches.passThrough();
    this.flushNow();
    this.senders.drain();
    this.deadline = this.clock.afterUnlessIdle(patience, () => {
      this.backlog.release();
    });
  }

  /** Takes no more messages, and gives the remaining ones `patience` milliseconds to get into the queue. */
  async close(patience: number): Promise<void> {
    if (this.state === 'closed') return;
    this.state = 'closed';
    this.batches.passThrough();
    this.flushNow();
    this.senders.drain();
    this.deadline?.cancel();
    await this.backlog.wait(patience);
    this.pendingRoutes.close();
    this.senders.close();
    this.backlog.close();
  }

  /** Messages that are not in the queue. An add in flight may still succeed, so read this late. */
  get losses(): Losses {
    return { messages: this.backlog.size, unrouted: this.pendingRoutes.size, ...this.senders.unsent };
  }

  /** Sends a message on after its route was looked up. */
  onRouted(held: HeldMessage, { connections: meant, isFiltered }: Route): void {
    const { taken, call } = held;
    if (isFiltered) this.outgoing.usageOf(call.source).filtered++;
    const { connections, refusals } = admit(meant, this.parts.admission);
    if (connections.length === 0 && refusals.length > 0) {
      this.onRefused(held, refusals);
      return;
    }
    if (refusals.length > 0) this.observer.onRefused(refusals, call, taken.number);
    if (call.shown !== undefined) this.observer.onRouted(call, connections.length > 0);
    if (connections.length === 0) {
      this.outgoing.dropped(taken.id);
      held.onDropped?.();
      this.backlog.drop(taken);
      return;
    }
    this.backlog.spread(taken, connections.length);
    for (const connection of connections) this.push(connection, taken);
    if (taken.number <= this.flushedUpTo) this.flushNow();
  }

  /** Refuses a message after its route was looked up, or if the look-up failed. */
  onRefused({ taken, call, onRefused }: HeldMessage, refusals: readonly Refusal[]): void {
    this.observer.onRefused(refusals, call, taken.number);
    const [first] = refusals;
    if (first !== undefined) onRefused?.(first);
    this.backlog.drop(taken);
  }

  onWithdrawn({ taken }: HeldMessage, route: Promise<Route>): void {
    this.outgoing.abandon(route);
    this.backlog.drop(taken);
  }

  private push(connection: SourceConnection, message: TakenMessage): void {
    this.parts.admission?.admitted?.(connection);
    this.batches.push(connection, message);
  }

  /** Hands over unfinished batches without waiting for more messages. */
  private flushNow(): void {
    this.flushedUpTo = this.backlog.last;
    this.batches.flush();
    this.senders.hurry();
  }

  private readonly onQueued = (messages: readonly TakenMessage[]): void => {
    this.backlog.remove(messages);
    debug('queued %d messages', messages.length);
  };
}

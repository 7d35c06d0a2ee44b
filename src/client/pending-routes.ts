import { OwnContext } from '../shared/own-context.js';
import type { TakenCall, TakenMessage } from './backlog.js';
import { lookupFailed, NO_ROOM, type Refusal } from './admission.js';
import type { Route } from './router.js';

/** A message that waits for its route. */
export interface HeldMessage {
  readonly taken: TakenMessage;
  readonly call: TakenCall;
  /** The tenant whose destinations are looked up; `''` if none. */
  readonly owner: string;
  /** Whether another program sent the message. */
  readonly isReceived: boolean;
  /**
   * Bytes of memory that the message takes: its body, and for a received message its `integrations` too, since the
   * sender may put anything into them.
   */
  readonly bytes: number;
  /** Called if the message is refused after all. */
  readonly onRefused: ((refusal: Refusal) => void) | undefined;
  /** Called if no destination takes the message. */
  readonly onDropped?: (() => void) | undefined;
}

const TOO_MANY: Refusal = {
  kind: 'lookup_failed',
  reason: 'the destinations of its tenant are not known yet, and too many of its messages wait for them',
};

/** Receives what became of each held message. */
export interface RouteReceiver {
  onRouted(held: HeldMessage, route: Route): void;
  onRefused(held: HeldMessage, refusals: readonly Refusal[]): void;
  onWithdrawn(held: HeldMessage, route: Promise<Route>): void;
}

/**
 * Holds messages while their routes are looked up. Each message goes on when its own route is known, so that a tenant
 * whose look-up takes long, or never ends, does not hold up others. Messages that wait for the same look-up keep their
 * order.
 */
export class PendingRoutes {
  /** Held messages and their routes, by the message's number. */
  private readonly held = new Map<number, { message: HeldMessage; route: Promise<Route> }>();
  /** Bytes of held messages, by their owner. */
  private readonly bytesOf = new Map<string, number>();
  private callBytes = 0;
  private receivedBytes = 0;
  private isClosed = false;
  private readonly context = new OwnContext();

  /** @param maxReceivedBytes limit for the bytes of all received messages */
  constructor(
    private readonly receiver: RouteReceiver,
    private readonly maxReceivedBytes: number,
  ) {}

  /** Number of held messages. */
  get size(): number {
    return this.held.size;
  }

  /** Bytes of the bodies of the application's own messages. */
  get bytesOfCalls(): number {
    return this.callBytes;
  }

  /** Whether received messages take more than half of their limit. */
  get isCrowded(): boolean {
    return this.receivedBytes > this.maxReceivedBytes / 2;
  }

  /**
   * Returns why a message cannot be held, if it cannot. The messages of one tenant take at most as much room as they
   * leave free: a look-up may never end, and each further such tenant finds less, so that there is always room for
   * others. Messages without a tenant may take all the room, since every message waits for their look-up. Received
   * messages have their own limit, since anybody who has a write key can name any number of tenants.
   *
   * @param free free bytes of the buffer
   */
  refusal(
    { owner, isReceived, bytes }: Pick<HeldMessage, 'owner' | 'isReceived' | 'bytes'>,
    free: number,
  ): Refusal | undefined {
    const room = isReceived ? Math.min(free, this.maxReceivedBytes - this.receivedBytes) : free;
    if (bytes > room) return NO_ROOM;
    const held = (this.bytesOf.get(owner) ?? 0) + bytes;
    return owner !== '' && held > Math.max(bytes, room - bytes) ? TOO_MANY : undefined;
  }

  add(message: HeldMessage, route: Promise<Route>): void {
    this.held.set(message.taken.number, { message, route });
    this.count(message, message.bytes);
    const onFound = (found: Route): void => {
      if (this.leaves(message)) this.receiver.onRouted(message, found);
    };
    const onFailed = (error: unknown): void => {
      if (this.leaves(message)) this.receiver.onRefused(message, [lookupFailed(error)]);
    };
    void this.context.run(() => route.then(onFound, onFailed));
  }

  /**
   * Gives up messages after number `after` up to number `upTo` that are still held, if they were received or their
   * caller gets an answer. Returns whether there were any.
   */
  withdraw(after: number, upTo: number): boolean {
    let isAny = false;
    for (let number = after + 1; number <= upTo; number++) {
      const held = this.held.get(number);
      if (held === undefined || !(held.message.isReceived || held.message.call.isAnswered)) continue;
      if (!this.leaves(held.message)) continue;
      this.receiver.onWithdrawn(held.message, held.route);
      isAny = true;
    }
    return isAny;
  }

  /** Ignores look-ups that end from now on. */
  close(): void {
    this.isClosed = true;
  }

  /** Removes a message. Returns `false` if it is no longer held, or after `close`. */
  private leaves(message: HeldMessage): boolean {
    if (this.isClosed || !this.held.delete(message.taken.number)) return false;
    this.count(message, -message.bytes);
    return true;
  }

  private count({ owner, isReceived }: HeldMessage, bytes: number): void {
    if (isReceived) this.receivedBytes += bytes;
    else this.callBytes += bytes;
    const held = (this.bytesOf.get(owner) ?? 0) + bytes;
    if (held > 0) this.bytesOf.set(owner, held);
    else this.bytesOf.delete(owner);
  }
}

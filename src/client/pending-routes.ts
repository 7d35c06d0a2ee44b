import { OwnContext } from '../shared/own-context.js';
import type { TakenCall, TakenMessage } from './backlog.js';
import { lookupFailed, NO_ROOM, type Refusal } from './admission.js';
import type { Route } from './router.js';

/** A message that waits for its route. */
export interface HeldMessage {
  readonly taken: TakenMessage;
  readonly call: TakenCall;
  /** The tenant whose destinations are looked up; `''` for nobody. */
  readonly owner: string;
  /** Whether another program has sent it. */
  readonly isReceived: boolean;
  /**
   * What it takes of the memory, in bytes: its body, and of a received message its `integrations` too, since whoever
   * sends it may put anything there.
   */
  readonly bytes: number;
  /** Called if it is refused after all. */
  readonly onRefused: ((refusal: Refusal) => void) | undefined;
}

const TOO_MANY: Refusal = {
  kind: 'lookup_failed',
  reason: 'the destinations of its tenant are not known yet, and too many of its messages wait for them',
};

/** Learns what became of each message. */
export interface RouteReceiver {
  onRouted(held: HeldMessage, route: Route): void;
  onRefused(held: HeldMessage, refusals: readonly Refusal[]): void;
  onWithdrawn(held: HeldMessage, route: Promise<Route>): void;
}

/**
 * Keeps messages while their routes are looked up. Each goes on when its own is known, so that a tenant whose
 * look-up takes long, or never ends, holds up no other. Messages that wait for one look-up keep their order.
 */
export class PendingRoutes {
  /** Their routes, by their numbers. */
  private readonly held = new Map<number, { message: HeldMessage; route: Promise<Route> }>();
  /** Of an owner's messages. */
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

  /** In messages. */
  get size(): number {
    return this.held.size;
  }

  /** Of the bodies of the application's own messages. */
  get bytesOfCalls(): number {
    return this.callBytes;
  }

  /** Whether received messages take more than half of their limit. */
  get isCrowded(): boolean {
    return this.receivedBytes > this.maxReceivedBytes / 2;
  }

  /**
   * Why a message cannot be held, if it cannot. The messages of one tenant take at most as much as is left
   * free: a look-up may never end, and each further tenant of the kind finds less, so that there is always room for
   * others. What all messages wait for, those without a tenant, may take all. Received messages find no more than
   * their limit leaves: anybody who has a write key can name any number of tenants.
   *
   * @param free bytes of the buffer
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
   * Gives up messages after one number up to another that are still held: those that were received, and calls that are
   * answered. Returns whether there were any.
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

  /** Look-ups that end from now on are ignored. */
  close(): void {
    this.isClosed = true;
  }

  /** Whether a message is still held, and leaves now. */
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

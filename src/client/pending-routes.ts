import type { TakenCall, TakenMessage } from './backlog.js';
import { NO_ROOM, type Refusal } from './admission.js';
import type { Route } from './router.js';

/** A message that waits for its route. */
export interface HeldMessage {
  readonly taken: TakenMessage;
  readonly call: TakenCall;
  /** The tenant whose destinations are looked up; `''` for nobody. */
  readonly owner: string;
}

const TOO_MANY: Refusal = {
  kind: 'lookup_failed',
  reason: 'the destinations of its tenant are not known yet, and too many of its messages wait for them',
};

/** Learns what became of each message. */
export interface RouteReceiver {
  onRouted(held: HeldMessage, route: Route): void;
  onUnroutable(held: HeldMessage, error: unknown): void;
  onWithdrawn(held: HeldMessage, route: Promise<Route>): void;
}

/**
 * Keeps messages while their routes are looked up. Each goes on when its own is known, so that a tenant whose
 * look-up takes long, or never ends, holds up no other. Messages that wait for one look-up keep their order.
 */
export class PendingRoutes {
  /** Their routes, by their numbers. */
  private readonly held = new Map<number, { message: HeldMessage; route: Promise<Route> }>();
  /** Of the bodies of an owner's messages. */
  private readonly bytesOf = new Map<string, number>();
  private total = 0;
  private isClosed = false;

  constructor(private readonly receiver: RouteReceiver) {}

  /** In messages. */
  get size(): number {
    return this.held.size;
  }

  /** Of all bodies. */
  get bytes(): number {
    return this.total;
  }

  /**
   * Why a message cannot be held, if it cannot. The messages of one tenant take at most as much as is left
   * free: a look-up may never end, and each further tenant of the kind finds less, so that there is always room for
   * others. What all messages wait for, those without a tenant, may take all.
   *
   * @param free bytes of the buffer
   */
  refusal(owner: string, bytes: number, free: number): Refusal | undefined {
    if (bytes > free) return NO_ROOM;
    const held = (this.bytesOf.get(owner) ?? 0) + bytes;
    return owner !== '' && held > Math.max(bytes, free - bytes) ? TOO_MANY : undefined;
  }

  add(message: HeldMessage, route: Promise<Route>): void {
    const { owner } = message;
    const { number, bytes } = message.taken;
    this.held.set(number, { message, route });
    this.total += bytes;
    this.bytesOf.set(owner, (this.bytesOf.get(owner) ?? 0) + bytes);
    route.then(
      (found) => {
        if (this.leaves(message)) this.receiver.onRouted(message, found);
      },
      (error: unknown) => {
        if (this.leaves(message)) this.receiver.onUnroutable(message, error);
      },
    );
  }

  /** Gives up the messages after one number up to another that are still held. */
  withdraw(after: number, upTo: number): void {
    for (let number = after + 1; number <= upTo; number++) {
      const held = this.held.get(number);
      if (held !== undefined && this.leaves(held.message))
        this.receiver.onWithdrawn(held.message, held.route);
    }
  }

  /** Look-ups that end from now on are ignored. */
  close(): void {
    this.isClosed = true;
  }

  /** Whether a message is still held, and leaves now. */
  private leaves({ taken: { number, bytes }, owner }: HeldMessage): boolean {
    if (this.isClosed || !this.held.delete(number)) return false;
    this.total -= bytes;
    const left = (this.bytesOf.get(owner) ?? 0) - bytes;
    if (left > 0) this.bytesOf.set(owner, left);
    else this.bytesOf.delete(owner);
    return true;
  }
}

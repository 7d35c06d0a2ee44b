import type { TakenCall, TakenMessage } from './backlog.js';
import type { Route } from './router.js';

/** A message that waits for its route. */
export interface HeldMessage {
  readonly taken: TakenMessage;
  readonly call: TakenCall;
}

/** Learns what became of each message. */
export interface RouteReceiver {
  onRouted(held: HeldMessage, route: Route): void;
  onUnroutable(held: HeldMessage, error: unknown): void;
}

/**
 * Keeps messages while their routes are looked up. Each goes on when its own is known, so that a tenant whose
 * look-up takes long, or never ends, holds up no other. Messages that wait for one look-up keep their order.
 */
export class PendingRoutes {
  private count = 0;
  private isClosed = false;

  constructor(private readonly receiver: RouteReceiver) {}

  /** In messages. */
  get size(): number {
    return this.count;
  }

  add(held: HeldMessage, route: Promise<Route>): void {
    this.count++;
    route.then(
      (found) => {
        if (this.leaves()) this.receiver.onRouted(held, found);
      },
      (error: unknown) => {
        if (this.leaves()) this.receiver.onUnroutable(held, error);
      },
    );
  }

  /** Look-ups that end from now on are ignored. */
  close(): void {
    this.isClosed = true;
  }

  /** Whether the message of a look-up that has ended goes on. */
  private leaves(): boolean {
    if (this.isClosed) return false;
    this.count--;
    return true;
  }
}

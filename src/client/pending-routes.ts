import type { TakenCall, TakenMessage } from './backlog.js';
import type { Route } from './router.js';

/** A message that waits for its route. */
export interface HeldMessage {
  readonly taken: TakenMessage;
  readonly call: TakenCall;
}

/** A message whose route is being looked up, or that waits behind one. */
interface Entry {
  readonly held: HeldMessage;
  /** `undefined` until it is known. */
  route: Route | undefined;
  /** The error that the lookup failed with. */
  error: unknown;
  isKnown: boolean;
  next: Entry | undefined;
}

interface SourceEntries {
  first: Entry;
  last: Entry;
}

/** Learns what became of each message, in the order of the calls of its source. */
export interface RouteReceiver {
  onRouted(held: HeldMessage, route: Route): void;
  onUnroutable(held: HeldMessage, error: unknown): void;
}

/**
 * Keeps messages whose route has to be looked up, and those of the same source that came after them, so that
 * a slow lookup changes no order.
 */
export class PendingRoutes {
  private readonly sources = new Map<string, SourceEntries>();
  private count = 0;
  private isClosed = false;

  constructor(private readonly receiver: RouteReceiver) {}

  /** In messages. */
  get size(): number {
    return this.count;
  }

  /** Whether messages of a source wait, so that the next one has to wait behind them. */
  has(source: string): boolean {
    return this.sources.has(source);
  }

  add(held: HeldMessage, route: Route | Promise<Route>): void {
    const { source } = held.call;
    const entry: Entry = { held, route: undefined, error: undefined, isKnown: false, next: undefined };
    const entries = this.sources.get(source);
    if (entries === undefined) this.sources.set(source, { first: entry, last: entry });
    else entries.last = entries.last.next = entry;
    this.count++;
    void this.settle(source, entry, route);
  }

  /** Lookups that end from now on are ignored. */
  close(): void {
    this.isClosed = true;
  }

  private async settle(source: string, entry: Entry, route: Route | Promise<Route>): Promise<void> {
    try {
      entry.route = await route;
    } catch (error) {
      entry.error = error;
    }
    entry.isKnown = true;
    this.release(source);
  }

  /** Passes on the messages at the front whose route is known. */
  private release(source: string): void {
    for (;;) {
      const entries = this.sources.get(source);
      if (entries === undefined || !entries.first.isKnown || this.isClosed) return;
      const { held, route, error, next } = entries.first;
      if (next === undefined) this.sources.delete(source);
      else entries.first = next;
      this.count--;
      if (route === undefined) this.receiver.onUnroutable(held, error);
      else this.receiver.onRouted(held, route);
    }
  }
}

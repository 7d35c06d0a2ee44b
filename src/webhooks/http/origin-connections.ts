import type { Connector } from './guarded-connector.js';
import type { IdleConnections } from './idle-connections.js';
import { WebhookConnection } from './webhook-connection.js';

/** How long after `useOnce` a connection takes no request after one to that path, in milliseconds. */
const USED_ONCE = 600_000;

/** Something that waits for a connection. */
export interface ConnectionTaker {
  /** Path and query of its request. */
  readonly path: string;
  /** Called with a connection, which belongs to the taker until it is released or discarded. */
  begin(connection: WebhookConnection): void;
}

/**
 * The connections to one origin, at most `limit`. Requests without a free connection wait here and not inside the HTTP
 * client, so that their deadline can start when they get a connection.
 *
 * The scheduler hands out no more requests than an origin has connections, with one exception: a destination with
 * several URLs at one origin sends each message to all of them at once, even if only one connection is free.
 */
export class OriginConnections {
  private readonly open = new Set<WebhookConnection>();
  /** The most recently used one is taken first: its socket is the least likely to have been closed. */
  private readonly idle: WebhookConnection[] = [];
  private readonly waiting = new Set<ConnectionTaker>();
  /** Paths after whose requests a connection takes no other, with the timers that end this. */
  private readonly usedOnce = new Map<string, NodeJS.Timeout>();

  constructor(
    private readonly origin: string,
    private readonly limit: number,
    private readonly connector: Connector,
    /** The idle connections of all origins. */
    private readonly idleConnections: IdleConnections<WebhookConnection>,
    /** Called when no connection is left, so that origins which are no longer used leave nothing behind. */
    private readonly onEmpty: (origin: string) => void,
  ) {}

  /** Gives the taker a connection: at once, or when one becomes free. */
  request(taker: ConnectionTaker): void {
    const isFull = this.open.size >= this.limit;
    // A request whose connection is closed afterwards opens its own, so that other requests keep theirs.
    const connection = isFull || !this.isUsedOnce(taker.path) ? this.idle.pop() : undefined;
    if (connection !== undefined) {
      this.idleConnections.remove(connection);
      this.hand(connection, taker);
    } else if (isFull) {
      this.waiting.add(taker);
    } else {
      taker.begin(this.connect());
    }
  }

  /** Stops waiting. */
  withdraw(taker: ConnectionTaker): void {
    this.waiting.delete(taker);
  }

  /** Takes back a connection that can be used again. */
  release(connection: WebhookConnection): void {
    if (this.isUsedOnce(connection.answeredPath)) {
      this.discard(connection);
      return;
    }
    const taker = this.nextTaker();
    if (taker === undefined) {
      this.idle.push(connection);
      this.idleConnections.add(connection);
    } else {
      // This runs while the previous exchange is ending. The HTTP client then finds the next request waiting, which is
      // cheaper than becoming idle and being woken again.
      this.hand(connection, taker);
    }
  }

  /**
   * Lets connections take no request after one to this path for a while. Called if bytes on a connection were no
   * answer, but the late rest of the answer from this path: some receivers send a body after a 204. Such bytes would
   * spoil half of all answers, and the messages would be sent again. Other paths at the origin may belong to other
   * customers, so their requests still share connections.
   */
  useOnce(path: string): void {
    if (this.usedOnce.has(path)) return;
    const end = (): void => {
      this.usedOnce.delete(path);
      this.checkEmpty();
    };
    this.usedOnce.set(path, setTimeout(end, USED_ONCE).unref());
  }

  /** Ends a connection whose state is unknown. */
  discard(connection: WebhookConnection): void {
    this.forget(connection);
    const taker = this.nextTaker();
    if (taker !== undefined) {
      const next = this.connect();
      queueMicrotask(() => {
        taker.begin(next);
      });
    } else {
      this.checkEmpty();
    }
  }

  /** Ends a connection and opens another in its place, for the same taker. */
  replace(connection: WebhookConnection): WebhookConnection {
    this.forget(connection);
    return this.connect();
  }

  /** Ends all connections. */
  async destroy(): Promise<void> {
    for (const timer of this.usedOnce.values()) clearTimeout(timer);
    await Promise.all(Array.from(this.open, (connection) => connection.destroy()));
  }

  private hand(connection: WebhookConnection, taker: ConnectionTaker): void {
    const isOver = connection.isOld || this.isUsedOnce(connection.answeredPath);
    taker.begin(isOver ? this.replace(connection) : connection);
  }

  private isUsedOnce(path: string | undefined): boolean {
    return this.usedOnce.size > 0 && path !== undefined && this.usedOnce.has(path);
  }

  private connect(): WebhookConnection {
    const connection = new WebhookConnection(this.origin, this.connector, this.onDisconnect);
    this.open.add(connection);
    return connection;
  }

  private forget(connection: WebhookConnection): void {
    this.open.delete(connection);
    void connection.destroy();
  }

  private checkEmpty(): void {
    if (this.open.size === 0 && this.usedOnce.size === 0) this.onEmpty(this.origin);
  }

  private nextTaker(): ConnectionTaker | undefined {
    const [taker] = this.waiting;
    if (taker !== undefined) this.waiting.delete(taker);
    return taker;
  }

  /** Discards an idle connection whose socket was closed or soon will be. Its exchange settles a socket in use. */
  private readonly onDisconnect = (connection: WebhookConnection): void => {
    const index = this.idle.lastIndexOf(connection);
    if (index === -1) return;
    this.idle.splice(index, 1);
    this.idleConnections.remove(connection);
    this.discard(connection);
  };
}

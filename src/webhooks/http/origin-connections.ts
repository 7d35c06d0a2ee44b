import type { Connector } from './guarded-connector.js';
import type { IdleConnections } from './idle-connections.js';
import { WebhookConnection } from './webhook-connection.js';

/** Something that waits for a connection. */
export interface ConnectionTaker {
  /** Called with a connection that is the taker's until it is released or discarded. */
  begin(connection: WebhookConnection): void;
}

/**
 * The connections to one origin, at most `limit`. Who finds none free waits here and not inside the
 * HTTP client, so that a deadline can start when the connection is there.
 */
export class OriginConnections {
  readonly #open = new Set<WebhookConnection>();
  /** The one used last is taken first: its socket is the least likely to have been closed. */
  readonly #idle: WebhookConnection[] = [];
  readonly #waiting = new Set<ConnectionTaker>();

  constructor(
    private readonly origin: string,
    private readonly limit: number,
    private readonly connector: Connector,
    /** Those of all origins. */
    private readonly idleConnections: IdleConnections<WebhookConnection>,
    /** Called when no connection is left, so that origins which are no longer used leave nothing behind. */
    private readonly onEmpty: (origin: string) => void,
  ) {}

  /** Gives the taker a connection: at once, or when one is free. */
  request(taker: ConnectionTaker): void {
    const connection = this.#idle.pop();
    if (connection !== undefined) {
      this.idleConnections.remove(connection);
      taker.begin(connection);
    } else if (this.#open.size < this.limit) {
      taker.begin(this.#connect());
    } else {
      this.#waiting.add(taker);
    }
  }

  /** Gives up waiting. */
  withdraw(taker: ConnectionTaker): void {
    this.#waiting.delete(taker);
  }

  /** Takes back a connection that can be used again. */
  release(connection: WebhookConnection): void {
    const taker = this.#nextTaker();
    if (taker === undefined) {
      this.#idle.push(connection);
      this.idleConnections.add(connection);
    } else {
      // Within the end of the exchange before it: the HTTP client then finds the next request waiting, which
      // is cheaper for it than to fall idle and be woken again.
      taker.begin(connection);
    }
  }

  /** Ends a connection whose state is unknown. */
  discard(connection: WebhookConnection): void {
    this.#forget(connection);
    const taker = this.#nextTaker();
    if (taker !== undefined) {
      const next = this.#connect();
      queueMicrotask(() => {
        taker.begin(next);
      });
    } else if (this.#open.size === 0) {
      this.onEmpty(this.origin);
    }
  }

  /** Ends a connection and opens another in its place, for the same taker. */
  replace(connection: WebhookConnection): WebhookConnection {
    this.#forget(connection);
    return this.#connect();
  }

  /** Ends all connections. */
  async destroy(): Promise<void> {
    await Promise.all(Array.from(this.#open, (connection) => connection.destroy()));
  }

  #connect(): WebhookConnection {
    const connection = new WebhookConnection(this.origin, this.connector, this.#onDisconnect);
    this.#open.add(connection);
    return connection;
  }

  #forget(connection: WebhookConnection): void {
    this.#open.delete(connection);
    void connection.destroy();
  }

  #nextTaker(): ConnectionTaker | undefined {
    const [taker] = this.#waiting;
    if (taker !== undefined) this.#waiting.delete(taker);
    return taker;
  }

  /** A socket was closed or is to be. One in use is settled by its exchange. */
  readonly #onDisconnect = (connection: WebhookConnection): void => {
    const index = this.#idle.lastIndexOf(connection);
    if (index === -1) return;
    this.#idle.splice(index, 1);
    this.idleConnections.remove(connection);
    this.discard(connection);
  };
}

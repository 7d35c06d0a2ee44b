import type { WebhookConnection } from './webhook-connection.js';

/** What an idle connection is to be taken from. */
export interface IdleOwner {
  /** Ends a connection that is idle. */
  evict(connection: WebhookConnection): void;
}

/**
 * The idle connections to all origins, of which the one that was used longest ago is closed when they are too
 * many: each holds a file handle, of which the application has only so many.
 */
export class IdleConnections {
  /** In the order in which they fell idle. */
  readonly #owners = new Map<WebhookConnection, IdleOwner>();

  constructor(private readonly limit: number) {}

  add(connection: WebhookConnection, owner: IdleOwner): void {
    this.#owners.set(connection, owner);
    if (this.#owners.size <= this.limit) return;
    for (const [oldest, itsOwner] of this.#owners) {
      itsOwner.evict(oldest);
      return;
    }
  }

  remove(connection: WebhookConnection): void {
    this.#owners.delete(connection);
  }
}

/** A connection that may become idle. Its links to its neighbours are for the list only. */
export interface IdleConnection<T> {
  /** Neighbour that became idle before this connection. */
  older: T | undefined;
  /** Neighbour that became idle after this connection. */
  newer: T | undefined;
  /** Ends the connection. Called while it is idle; the connection then has itself removed from the list. */
  evict(): void;
}

/**
 * The idle connections to all origins. If there are too many, the least recently used one is closed: each
 * holds a file handle, and the application has a limited number. It is a linked list, since every request
 * goes through it, and a `Map` would often reallocate its table.
 */
export class IdleConnections<T extends IdleConnection<T>> {
  private oldest: T | undefined;
  private newest: T | undefined;
  private count = 0;

  constructor(private readonly limit: number) {}

  add(connection: T): void {
    connection.older = this.newest;
    if (this.newest === undefined) this.oldest = connection;
    else this.newest.newer = connection;
    this.newest = connection;
    if (++this.count > this.limit) this.oldest?.evict();
  }

  /** @param connection a connection in the list */
  remove(connection: T): void {
    const { older, newer } = connection;
    if (older === undefined) this.oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.newest = older;
    else newer.older = older;
    connection.older = undefined;
    connection.newer = undefined;
    this.count--;
  }
}

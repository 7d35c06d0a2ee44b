/** A connection that may fall idle. What it holds of its neighbours is for their list alone. */
export interface Idler<T> {
  /** The one that fell idle before it. */
  older: T | undefined;
  /** The one that fell idle after it. */
  newer: T | undefined;
  /** Ends it: called while it is idle, and has it removed. */
  evict(): void;
}

/**
 * The idle connections to all origins, of which the one that was used longest ago is closed when they are too
 * many: each holds a file handle, of which the application has only so many. A linked list, since every
 * request goes through it, and a `Map` would make a new table every so often.
 */
export class IdleConnections<T extends Idler<T>> {
  #oldest: T | undefined;
  #newest: T | undefined;
  #count = 0;

  constructor(private readonly limit: number) {}

  add(connection: T): void {
    connection.older = this.#newest;
    if (this.#newest === undefined) this.#oldest = connection;
    else this.#newest.newer = connection;
    this.#newest = connection;
    if (++this.#count > this.limit) this.#oldest?.evict();
  }

  /** @param connection one of the list */
  remove(connection: T): void {
    const { older, newer } = connection;
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    connection.older = undefined;
    connection.newer = undefined;
    this.#count--;
  }
}

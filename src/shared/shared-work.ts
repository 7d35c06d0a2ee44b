/**
 * Work that is done once for all callers that ask while it goes on. Otherwise a query that a database does not answer
 * would be sent again and again, each time on another connection, until none is left.
 */
export class SharedWork<T> {
  private current: Promise<T> | undefined;

  constructor(private readonly work: () => Promise<T>) {}

  /** Returns the result of the work in progress, or starts new work if there is none. */
  result(): Promise<T> {
    this.current ??= this.work().finally(() => {
      this.current = undefined;
    });
    return this.current;
  }
}

/**
 * Work that is done once for all who ask for it meanwhile. A question that a database does not answer would otherwise be
 * asked again and again, each time on another connection, until none is left.
 */
export class SharedWork<T> {
  private current: Promise<T> | undefined;

  constructor(private readonly work: () => Promise<T>) {}

  /** What the work that goes on results in, or else new work. */
  result(): Promise<T> {
    this.current ??= this.work().finally(() => {
      this.current = undefined;
    });
    return this.current;
  }
}

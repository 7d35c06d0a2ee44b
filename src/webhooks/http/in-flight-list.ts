/** Something that is under way for a while. */
export interface InFlight {
  /** Where it stands among the others; for their list alone. */
  position: number;
}

/**
 * What is under way, in no order. Not a `Set`: whenever its table is exchanged for another, the old one keeps
 * what it held until the next full garbage collection, and with thousands of requests a second that is all
 * there ever were.
 */
export class InFlightList<T extends InFlight> implements Iterable<T> {
  readonly #items: T[] = [];

  add(item: T): void {
    item.position = this.#items.length;
    this.#items.push(item);
  }

  /** @param item one of the list */
  delete(item: T): void {
    const last = this.#items.pop();
    if (last === undefined || last === item) return;
    last.position = item.position;
    this.#items[item.position] = last;
  }

  /** Those that are under way now, whatever becomes of them meanwhile. */
  [Symbol.iterator](): Iterator<T> {
    return [...this.#items].values();
  }
}

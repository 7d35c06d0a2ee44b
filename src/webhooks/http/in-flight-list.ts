/** Something that is in flight for a while. */
export interface InFlight {
  /** Its position in the list; for the list only. */
  position: number;
}

/**
 * Items in flight, in no order. Not a `Set`: when its table is replaced, the old table holds on to its entries until
 * the next full garbage collection. At thousands of requests a second, that is every request so far.
 */
export class InFlightList<T extends InFlight> implements Iterable<T> {
  private readonly items: T[] = [];

  add(item: T): void {
    item.position = this.items.length;
    this.items.push(item);
  }

  /** @param item an item in the list */
  delete(item: T): void {
    const last = this.items.pop();
    if (last === undefined || last === item) return;
    last.position = item.position;
    this.items[item.position] = last;
  }

  /** Iterates over a copy, so that items may be added and deleted meanwhile. */
  [Symbol.iterator](): Iterator<T> {
    return [...this.items].values();
  }
}

import type { Destination } from './destination.js';

/**
 * Finds destinations by their id. Asynchronous and the only place to look one up, so that destinations
 * can also come from a store.
 */
export class DestinationRegistry {
  private readonly destinations: ReadonlyMap<string, Destination>;

  constructor(destinations: readonly Destination[]) {
    this.destinations = new Map(destinations.map((destination) => [destination.id, destination]));
  }

  find(id: string): Promise<Destination | undefined> {
    return Promise.resolve(this.destinations.get(id));
  }
}

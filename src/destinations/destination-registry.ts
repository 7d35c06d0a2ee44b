import type { Destination } from './destination.js';

/** What callers may see of a destination. */
export interface DestinationProfile {
  /** Tenant that owns the destination; `undefined` for the application's own. */
  tenant: string | undefined;
  /** Returns the origin of the URL with this hash in outcomes; `undefined` if the destination no longer has the URL. */
  originOf: (urlHash: string) => string | undefined;
}

/** Destinations that are looked up while the application runs. */
export interface DestinationLookup {
  /** Rejects if the destination cannot be looked up now. */
  find(id: string): Promise<Destination | 'deleted' | undefined>;
  /** Returns the profile of a destination. Needs none of its secrets, so it works even if they cannot be decrypted. */
  profile(id: string): Promise<DestinationProfile | undefined>;
  /**
   * Returns the name under which a destination shares limits: the same for all destinations of a tenant. `undefined` if
   * it was not looked up lately.
   */
  ownerOf(id: string): string | undefined;
  /**
   * Returns those destinations that are deleted, considering all changes until now. Destinations that cannot be looked
   * up are left out. Rejects if nothing is known.
   */
  deletedAmong(ids: readonly string[]): Promise<ReadonlySet<string>>;
}

const NONE: ReadonlySet<string> = new Set();

/**
 * Finds destinations by their id: first those of the options, then those that are looked up. This is the only place to
 * find a destination.
 */
export class DestinationRegistry {
  private readonly destinations: Map<string, Destination>;

  constructor(
    destinations: readonly Destination[],
    private readonly others?: DestinationLookup,
  ) {
    this.destinations = new Map(destinations.map((destination) => [destination.id, destination]));
  }

  add(destination: Destination): void {
    this.destinations.set(destination.id, destination);
  }

  /** Returns a destination of the options, or `undefined` if it has to be looked up. */
  known(id: string): Destination | undefined {
    return this.destinations.get(id);
  }

  /** Returns `deleted` if messages for the destination are dropped. Rejects if it cannot be looked up now. */
  lookUp(id: string): Promise<Destination | 'deleted' | undefined> {
    const known = this.known(id);
    if (known !== undefined || this.others === undefined) return Promise.resolve(known);
    return this.others.find(id);
  }

  /** Rejects if the destination cannot be looked up now. */
  profile(id: string): Promise<DestinationProfile | undefined> {
    const known = this.known(id);
    if (known === undefined) return this.others?.profile(id) ?? Promise.resolve(undefined);
    const originOf = (urlHash: string): string | undefined =>
      known.origins.find((origin) => origin === known.origin(urlHash));
    return Promise.resolve({ tenant: undefined, originOf });
  }

  /** As in `DestinationLookup`. Each destination of the options has its own owner; all unknown ones share an owner. */
  ownerOf(id: string): string {
    if (this.destinations.has(id)) return `destination ${id}`;
    return this.others?.ownerOf(id) ?? 'unknown';
  }

  /** As in `DestinationLookup`. Destinations of the options are never deleted. */
  deletedAmong(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const others = ids.filter((id) => !this.destinations.has(id));
    if (others.length === 0 || this.others === undefined) return Promise.resolve(NONE);
    return this.others.deletedAmong(others);
  }

  async find(id: string): Promise<Destination | undefined> {
    const found = await this.lookUp(id);
    return found === 'deleted' ? undefined : found;
  }
}

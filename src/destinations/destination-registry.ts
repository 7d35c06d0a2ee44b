import type { Destination } from './destination.js';

/** What callers may see of a destination. */
export interface DestinationProfile {
  /** Whose it is; `undefined` for the application's own. */
  tenant: string | undefined;
  /** The origin of the URL that an outcome names by its hash; `undefined` if the destination has it no longer. */
  originOf: (urlHash: string) => string | undefined;
}

/** Destinations that are looked up while the application runs. */
export interface DestinationLookup {
  /** Rejects if it cannot be looked up now. */
  find(id: string): Promise<Destination | 'deleted' | undefined>;
  /** The same without its secrets, so even if they cannot be decrypted. */
  profile(id: string): Promise<DestinationProfile | undefined>;
  /**
   * Who shares limits with it: the same for all destinations of a tenant. `undefined` where it was not looked up of late.
   */
  ownerOf(id: string): string | undefined;
  /**
   * Which of these are deleted, by all that was changed until now. Of those that cannot be looked up, that is not known.
   * Rejects if nothing is known.
   */
  deletedAmong(ids: readonly string[]): Promise<ReadonlySet<string>>;
}

const NONE: ReadonlySet<string> = new Set();

/**
 * Finds destinations by their id: first those of the options, then those that are looked up. This is the only
 * place to find one.
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

  /** One of the options; `undefined` if it has to be looked up. */
  known(id: string): Destination | undefined {
    return this.destinations.get(id);
  }

  /** Rejects if it cannot be looked up now. `deleted`: messages for it are dropped. */
  lookUp(id: string): Promise<Destination | 'deleted' | undefined> {
    const known = this.known(id);
    if (known !== undefined || this.others === undefined) return Promise.resolve(known);
    return this.others.find(id);
  }

  /** Rejects if it cannot be looked up now. */
  profile(id: string): Promise<DestinationProfile | undefined> {
    const known = this.known(id);
    if (known === undefined) return this.others?.profile(id) ?? Promise.resolve(undefined);
    const originOf = (urlHash: string): string | undefined =>
      known.origins.find((origin) => origin === known.origin(urlHash));
    return Promise.resolve({ tenant: undefined, originOf });
  }

  /** As that of `DestinationLookup`. Each of the options is alone; all that are not known share one owner. */
  ownerOf(id: string): string {
    if (this.destinations.has(id)) return `destination ${id}`;
    return this.others?.ownerOf(id) ?? 'unknown';
  }

  /** As that of `DestinationLookup`; those of the options never are. */
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

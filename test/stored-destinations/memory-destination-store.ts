import type {
  DestinationPageQuery,
  StoredDestination,
  WritableDestinationStore,
} from '../../src/options/destination-store.js';

/** The destinations of an application that stores them itself. */
export class MemoryDestinationStore implements WritableDestinationStore {
  readonly records = new Map<string, StoredDestination | 'deleted'>();

  findByTenant(tenant: string | undefined): Promise<StoredDestination[]> {
    return Promise.resolve(this.all().filter((one) => one.tenant === tenant));
  }

  findById(id: string): Promise<StoredDestination | 'deleted' | undefined> {
    return Promise.resolve(this.records.get(id));
  }

  list({ tenant, after = '', limit }: DestinationPageQuery): Promise<StoredDestination[]> {
    const meant = this.all().filter(
      (one) => one.id > after && (tenant === undefined || one.tenant === tenant),
    );
    return Promise.resolve(meant.sort((a, b) => (a.id < b.id ? -1 : 1)).slice(0, limit));
  }

  insert(destination: StoredDestination, limit: number): Promise<boolean> {
    const others = this.all().filter((one) => one.tenant === destination.tenant);
    if (others.length >= limit) return Promise.resolve(false);
    this.records.set(destination.id, destination);
    return Promise.resolve(true);
  }

  replace(destination: StoredDestination): Promise<boolean> {
    const known = this.records.get(destination.id);
    const isNext = typeof known === 'object' && known.version === destination.version - 1;
    if (isNext) this.records.set(destination.id, destination);
    return Promise.resolve(isNext);
  }

  remove(id: string): Promise<boolean> {
    const isThere = typeof this.records.get(id) === 'object';
    if (isThere) this.records.set(id, 'deleted');
    return Promise.resolve(isThere);
  }

  private all(): StoredDestination[] {
    return [...this.records.values()].filter((one) => one !== 'deleted');
  }
}

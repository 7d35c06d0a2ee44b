import type { StoredDestination } from '../../src/options/destination-store.js';
import type {
  DestinationChange,
  DestinationChanges,
} from '../../src/stored-destinations/destination-feed.js';
import { MemoryDestinationStore } from './memory-destination-store.js';

/** A store with its feed that another process changes, and that may be away. */
export class FarStore extends MemoryDestinationStore {
  readonly told: DestinationChange[] = [];
  /** The queries so far. */
  readonly asked: string[] = [];
  isAway = false;
  /** A tenant whose look-ups alone fail. */
  damaged: string | undefined;
  /** Number of changes that the feed has forgotten. */
  forgotten = 0;
  /** Look-ups by a tenant wait for this. */
  held: Promise<void> = Promise.resolve();
  /** Look-ups by an id wait for this. */
  heldById: Promise<void> = Promise.resolve();

  override async findByTenant(tenant: string | undefined): Promise<StoredDestination[]> {
    this.asked.push(`tenant ${String(tenant)}`);
    this.answer();
    if (tenant !== undefined && tenant === this.damaged) throw new Error('invalid byte sequence');
    const found = await super.findByTenant(tenant);
    await this.held;
    return found;
  }

  override async findById(id: string): Promise<StoredDestination | 'deleted' | undefined> {
    this.asked.push(`id ${id}`);
    const found = await super.findById(id);
    await this.heldById;
    return found;
  }

  changesSince(since: string | undefined): Promise<DestinationChanges> {
    this.asked.push('changes');
    try {
      this.answer();
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
    const known = since === undefined ? -Infinity : Number(since);
    const changes = known < this.forgotten ? undefined : this.told.slice(known);
    return Promise.resolve({ latest: String(this.told.length), changes });
  }

  publish(change: DestinationChange): Promise<void> {
    this.told.push(change);
    return Promise.resolve();
  }

  /** Adds a destination, as another process does. */
  async add(id: string, tenant: string): Promise<void> {
    await this.insert({ id, tenant, urls: [], createdAt: 0, updatedAt: 0, version: 1 }, Infinity);
    await this.publish({ id, tenant });
  }

  private answer(): void {
    if (this.isAway) throw new Error('the store is away');
  }
}

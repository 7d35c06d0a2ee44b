import { MemoryDestinationStore } from './memory-destination-store.js';

/** A store whose look-ups of tenants never end. */
export class SilentStore extends MemoryDestinationStore {
  /** Tenants that were looked up. */
  readonly asked: string[] = [];

  override findByTenant(tenant: string | undefined): ReturnType<MemoryDestinationStore['findByTenant']> {
    if (tenant === undefined) return super.findByTenant(tenant);
    this.asked.push(tenant);
    return new Promise(() => undefined);
  }
}

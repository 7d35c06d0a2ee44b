import type { DestinationRecord } from '../options/destination-store.js';

/** Maximum number of tenants whose latest change is remembered. */
const MAX_TENANTS = 20_000;

/**
 * Tells which destinations may have changed when a change names only a tenant, so that destinations of all other
 * tenants need not be looked up again.
 */
export class TenantChanges {
  private made = 0;
  /** The number of the latest change of each tenant. */
  private readonly latest = new Map<string, number>();
  /** The tenants of the changes up to this number are forgotten, so these changes may concern any tenant. */
  private unknown = 0;

  /** Number of changes so far. */
  get count(): number {
    return this.made;
  }

  add(tenant: string): void {
    if (this.latest.size >= MAX_TENANTS) {
      this.latest.clear();
      this.unknown = this.made;
    }
    this.latest.set(tenant, ++this.made);
  }

  /**
   * Whether a destination may have changed since it was looked up. Any change counts if the destination's tenant is
   * unknown: one that was not found may be new and of any tenant, and the application's own store may omit the tenant.
   *
   * @param since number of changes when it was looked up
   */
  concern(found: DestinationRecord | 'deleted' | undefined, since: number): boolean {
    const tenant = typeof found === 'object' ? found.tenant : undefined;
    const latest = typeof tenant === 'string' ? (this.latest.get(tenant) ?? this.unknown) : this.made;
    return since < latest;
  }
}

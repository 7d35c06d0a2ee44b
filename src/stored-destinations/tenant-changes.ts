import type { DestinationRecord } from '../options/destination-store.js';

/** Tenants whose latest change is remembered. */
const MAX_TENANTS = 20_000;

/**
 * Tells which destinations may have changed after somebody has changed any of a tenant, so that those of all other
 * tenants need not be looked up again.
 */
export class TenantChanges {
  private made = 0;
  /** The number of the latest change of each tenant. */
  private readonly latest = new Map<string, number>();
  /** Of the changes up to this number nobody knows any more whose they were. */
  private unknown = 0;

  /** How many there were so far. */
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
   * Whether a destination may have changed since. One that was not there may be a new one of any tenant, and the
   * application's own store may have left out whose one is.
   *
   * @param since how many changes there had been when it was looked up
   */
  concern(found: DestinationRecord | 'deleted' | undefined, since: number): boolean {
    const tenant = typeof found === 'object' ? found.tenant : undefined;
    const latest = typeof tenant === 'string' ? (this.latest.get(tenant) ?? this.unknown) : this.made;
    return since < latest;
  }
}

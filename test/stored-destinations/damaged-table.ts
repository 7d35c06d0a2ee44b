import type { DestinationRecord, DestinationStore } from '../../src/options/destination-store.js';

/** A table of the application with a row that cannot be read, so that look-ups of its tenant fail. */
export class DamagedTable implements DestinationStore {
  readonly rows: DestinationRecord[] = [];
  isRepaired = false;

  findByTenant(tenant: string | undefined): Promise<DestinationRecord[]> {
    if (tenant === 'damaged' && !this.isRepaired) return Promise.reject(new Error('invalid byte sequence'));
    return Promise.resolve(this.rows.filter((row) => row.tenant === tenant));
  }

  findById(id: string): Promise<DestinationRecord | undefined> {
    return Promise.resolve(this.rows.find((row) => row.id === id));
  }
}

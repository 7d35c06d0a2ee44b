import { DestinationStoreTimeoutError } from '../errors/destination.errors.js';
import type { DestinationRecord, DestinationStore } from '../options/destination-store.js';
import { type Clock, SYSTEM_CLOCK } from '../shared/clock.js';
import { inTime, STORE_DEADLINE } from './store-deadline.js';

/**
 * An application's own store with a deadline for each look-up. Once a look-up has missed it, one at a time is
 * tried and the others reject at once, until the store answers. Otherwise they would keep the worker from the
 * messages of all other destinations.
 */
export class TimedStore implements DestinationStore {
  /** Why look-ups reject at once; `undefined` while the store answers. */
  private silence: DestinationStoreTimeoutError | undefined;
  private isAsking = false;

  constructor(
    private readonly store: DestinationStore,
    private readonly clock: Clock = SYSTEM_CLOCK,
  ) {}

  findByTenant(tenant: string | undefined): Promise<readonly DestinationRecord[]> {
    return this.ask('findByTenant', () => this.store.findByTenant(tenant));
  }

  findById(id: string): Promise<DestinationRecord | 'deleted' | undefined> {
    return this.ask('findById', () => this.store.findById(id));
  }

  private async ask<T>(method: keyof DestinationStore, lookUp: () => Promise<T>): Promise<T> {
    const isSilent = this.silence !== undefined;
    if (this.silence !== undefined && this.isAsking) throw this.silence;
    this.isAsking = isSilent;
    try {
      const found = await this.inTime(method, lookUp);
      this.silence = undefined;
      return found;
    } catch (error) {
      // An error is an answer too.
      this.silence = error instanceof DestinationStoreTimeoutError ? error : undefined;
      throw error;
    } finally {
      if (isSilent) this.isAsking = false;
    }
  }

  private inTime<T>(method: keyof DestinationStore, lookUp: () => Promise<T>): Promise<T> {
    const late = (): Error => new DestinationStoreTimeoutError(method, STORE_DEADLINE);
    return inTime(this.clock, STORE_DEADLINE, lookUp, late);
  }
}

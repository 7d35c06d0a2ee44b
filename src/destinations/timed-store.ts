import { DestinationStoreTimeoutError } from '../errors/destination.errors.js';
import type { DestinationRecord, DestinationStore } from '../options/destination-store.js';
import { type Clock, SYSTEM_CLOCK, type Timer } from '../shared/clock.js';

/** How long a look-up in the application's own store may take, in milliseconds. */
const DEADLINE = 5_000;

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

  private async inTime<T>(method: keyof DestinationStore, lookUp: () => Promise<T>): Promise<T> {
    let timer: Timer | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = this.clock.afterUnlessIdle(DEADLINE, () => {
        reject(new DestinationStoreTimeoutError(method, DEADLINE));
      });
    });
    try {
      return await Promise.race([lookUp(), late]);
    } finally {
      timer?.cancel();
    }
  }
}

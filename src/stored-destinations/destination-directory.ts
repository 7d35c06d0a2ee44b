import { AnalyticsClosedError } from '../errors/message.errors.js';
import type { DestinationRecord, DestinationStore } from '../options/destination-store.js';
import { isTenantName } from '../options/tenant-name.js';
import { type Clock, LONGEST_TIMER, SYSTEM_CLOCK, type Timer } from '../shared/clock.js';
import { ChangeWatch } from './change-watch.js';
import {
  BY_ID,
  createIdCache,
  createTenantCache,
  type DestinationCacheParts,
  type KnownDestination,
  NONE,
} from './destination-caches.js';
import type { DestinationChange, DestinationFeed } from './destination-feed.js';
import type { LookupCache } from './lookup-cache.js';
import { LookupTurns } from './lookup-turns.js';
import { type Found, PatientLookup } from './patient-lookup.js';
import { TenantChanges } from './tenant-changes.js';

/** How often a look-up is repeated while the store is away, in milliseconds. */
const RETRY_INTERVAL = 250;

export interface DestinationDirectoryParts {
  store: DestinationStore;
  feed: DestinationFeed;
  /** Whether the store's look-ups may never end, as in an application's own store. @default false */
  mayHang?: boolean;
  /** Maximum number of look-ups at once. @default eight by tenant, and eight by id */
  mostLookups?: number | undefined;
  /** @default the system's */
  clock?: Clock;
  /** Called with the reason when destinations can no longer be looked up. */
  onAway?: (error: unknown) => void;
  onBack?: () => void;
}

/**
 * Finds destinations in the store, and remembers them until somebody changes them in any process. A change is in
 * force here after two seconds at most. If its notice was lost, it is in force after five minutes of use, or later if
 * very many destinations are in use. Tenants without destinations are remembered as well. While nobody tracks or
 * delivers, nothing is read.
 */
export class DestinationDirectory {
  private readonly clock: Clock;
  private readonly watch: ChangeWatch;
  private readonly tenants: LookupCache<readonly DestinationRecord[]>;
  private readonly ids: LookupCache<KnownDestination>;
  /** Changes that name a tenant but no destination. */
  private readonly changes = new TenantChanges();
  /** Look-ups by tenant. Each continues until the store answers, or nobody waits for it any longer. */
  private readonly patient = new Map<string, PatientLookup>();
  /** These look-ups by their results, including those that callers can no longer join. */
  private readonly byResult = new WeakMap<Found, PatientLookup>();
  /** Timers that keep the process alive while callers wait. */
  private readonly waits = new Set<Timer>();
  private readonly observers: ((change: DestinationChange | undefined) => void)[] = [];
  /** Tenants whose last look-up failed. */
  private readonly away = new Set<string>();
  private isAwayTold = false;
  private isClosed = false;

  constructor(private readonly parts: DestinationDirectoryParts) {
    const { store, feed, mostLookups } = parts;
    this.clock = parts.clock ?? SYSTEM_CLOCK;
    const caches: DestinationCacheParts = {
      store,
      turns: mostLookups === undefined ? undefined : new LookupTurns(mostLookups, 0),
      slowBy: parts.mayHang === true ? this.clock : undefined,
      onUnnoticed: (change) => {
        this.forget(change);
      },
    };
    this.tenants = createTenantCache(caches, (tenant) => this.patient.get(tenant)?.waiting === 0);
    this.ids = createIdCache(caches, this.changes);
    this.watch = new ChangeWatch(feed, this.clock, (changes, time) => {
      for (const cache of [this.tenants, this.ids]) cache.pass(time);
      if (changes === undefined) this.forgetAll();
      else for (const change of changes) this.forget(change);
    });
  }

  /** Whether remembered destinations may be used now. */
  get isFresh(): boolean {
    return this.watch.isFresh;
  }

  /** Returns a tenant's remembered destinations, or with `''` those without a tenant. Ask `isFresh` first. */
  remembered(tenant: string): readonly DestinationRecord[] | undefined {
    return this.tenants.get(tenant);
  }

  /**
   * Returns the destinations of a tenant, or those without a tenant. While the store is away, the promise waits for
   * it; nothing is guessed.
   *
   * @param asker takes turns with other askers, however much each of them asks for
   */
  ofTenant(tenant: string | undefined, asker = ''): readonly DestinationRecord[] | Found {
    const key = tenant ?? '';
    if (this.watch.isFresh) {
      const known = this.tenants.get(key);
      if (known !== undefined) return known;
    }
    if (tenant !== undefined && !isTenantName(tenant)) return NONE;
    const lookup = this.patient.get(key) ?? this.begin(key, asker);
    lookup.waiting++;
    if (!lookup.askers.has(asker)) {
      lookup.askers.add(asker);
      this.tenants.join(key, asker);
    }
    return lookup.result;
  }

  /** Says that a caller of `ofTenant` no longer waits. @param result the promise that `ofTenant` returned */
  abandon(result: Found): void {
    const lookup = this.byResult.get(result);
    if (lookup !== undefined) lookup.waiting--;
  }

  /** Rejects while the store is away. */
  async find(id: string): Promise<DestinationRecord | 'deleted' | undefined> {
    if (!this.watch.isFresh) await this.watch.refresh();
    return (this.ids.get(id) ?? (await this.ids.load(id, BY_ID))).found;
  }

  /** Keeps reading changes for a destination that `find` has returned and that is still in use. */
  use(): void {
    this.watch.use();
  }

  /** Reads all changes that were made until now. Rejects while that is not possible. */
  refresh(): Promise<void> {
    return this.watch.refresh();
  }

  /** Resolves if look-ups in general are answered now. Rejects while they cannot be answered. */
  async check(): Promise<void> {
    await this.watch.refresh();
    // The application's own store may be away while the feed is not.
    if (this.parts.mayHang === true) await this.tenants.load('');
  }

  /** @param onChange called with each change, or with `undefined` if everything may have changed */
  observe(onChange: (change: DestinationChange | undefined) => void): void {
    this.observers.push(onChange);
  }

  /** Forgets what a change may concern: one destination, all of a tenant, or everything. */
  forget(change: DestinationChange): void {
    const { tenant, id } = change;
    if (id !== undefined) this.ids.forget(id);
    else if (tenant !== undefined) this.changes.add(tenant);
    else {
      this.forgetAll();
      return;
    }
    this.tenants.forget(tenant ?? '');
    this.endSharing(tenant ?? '');
    for (const onChange of this.observers) onChange(change);
  }

  /** Forgets everything, since any of it may be wrong. */
  forgetAll(): void {
    this.tenants.clear();
    this.ids.clear();
    for (const key of this.patient.keys()) this.endSharing(key);
    for (const onChange of this.observers) onChange(undefined);
  }

  /** Look-ups that have not ended reject. */
  close(): void {
    this.isClosed = true;
    this.watch.close();
    this.tenants.close();
    this.ids.close();
    for (const wait of this.waits) wait.cancel();
  }

  /** Gives callers that ask after a change a new look-up. Callers from before may get an older result. */
  private endSharing(key: string): void {
    if (this.tenants.isRepeating(key)) this.patient.delete(key);
  }

  private begin(key: string, asker: string): PatientLookup {
    const lookup = new PatientLookup(new Set([asker]), (self) =>
      this.lookUp(key, self).finally(() => {
        this.end(key, self);
      }),
    );
    this.patient.set(key, lookup);
    this.byResult.set(lookup.result, lookup);
    return lookup;
  }

  /** Ensures that no caller joins a look-up any more. */
  private end(key: string, lookup: PatientLookup): void {
    if (this.patient.get(key) === lookup) this.patient.delete(key);
  }

  private async lookUp(key: string, lookup: PatientLookup): Found {
    // Messages wait for the answer, so the process must stay alive.
    const wait = this.clock.after(LONGEST_TIMER, () => undefined);
    this.waits.add(wait);
    try {
      for (;;) {
        const found = await this.attempt(key, lookup.askers);
        if (found !== undefined) return found;
        await this.pause();
        if (this.isClosed || lookup.waiting === 0) {
          // Ended at once, so that no caller joins a look-up that is over.
          this.end(key, lookup);
          throw new AnalyticsClosedError();
        }
      }
    } finally {
      wait.cancel();
      this.waits.delete(wait);
      this.away.delete(key);
    }
  }

  private async attempt(
    key: string,
    askers: ReadonlySet<string>,
  ): Promise<readonly DestinationRecord[] | undefined> {
    try {
      if (!this.watch.isFresh) await this.watch.refresh();
      const found = this.tenants.get(key) ?? (await this.tenants.load(key, askers));
      this.away.delete(key);
      if (this.isAwayTold && this.away.size === 0) {
        this.isAwayTold = false;
        this.parts.onBack?.();
      }
      return found;
    } catch (error) {
      if (error instanceof AnalyticsClosedError) return undefined;
      if (!this.isAwayTold) this.parts.onAway?.(error);
      this.isAwayTold = true;
      this.away.add(key);
      return undefined;
    }
  }

  private pause(): Promise<void> {
    return new Promise((resolve) => {
      this.clock.after(RETRY_INTERVAL, resolve);
    });
  }
}

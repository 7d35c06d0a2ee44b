import { AnalyticsClosedError } from '../errors/message.errors.js';
import type { DestinationRecord, DestinationStore } from '../options/destination-store.js';
import { isTenantName } from '../options/tenant-name.js';
import { type Clock, LONGEST_TIMER, SYSTEM_CLOCK, type Timer } from '../shared/clock.js';
import { ChangeWatch } from './change-watch.js';
import type { DestinationChange, DestinationFeed } from './destination-feed.js';
import { LookupCache } from './lookup-cache.js';
import { type Found, PatientLookup } from './patient-lookup.js';
import { TenantChanges } from './tenant-changes.js';

/** Tenants, and destinations, that are remembered. */
const MAX_REMEMBERED = 20_000;
/** How often a look-up is repeated while the store is away, in milliseconds. */
const RETRY_INTERVAL = 250;
const NONE: readonly DestinationRecord[] = [];

/** A destination as it was after so many changes of tenants. */
interface KnownDestination {
  readonly found: DestinationRecord | 'deleted' | undefined;
  readonly changes: number;
}

export interface DestinationDirectoryParts {
  store: DestinationStore;
  feed: DestinationFeed;
  /** Whether its look-ups may never end, as those of the application may. @default false */
  mayHang?: boolean;
  /** @default the system's */
  clock?: Clock;
  /** Destinations cannot be looked up for this reason. */
  onAway?: (error: unknown) => void;
  onBack?: () => void;
}

/**
 * Finds destinations in the store, and remembers them until somebody, in any process, changes them: a change
 * is in force here two seconds later at most. A tenant without destinations is remembered as well. Nothing is
 * asked while nobody tracks or delivers.
 */
export class DestinationDirectory {
  private readonly clock: Clock;
  private readonly watch: ChangeWatch;
  private readonly tenants: LookupCache<readonly DestinationRecord[]>;
  private readonly ids: LookupCache<KnownDestination>;
  /** Changes of which nobody has said what destination they concern. */
  private readonly changes = new TenantChanges();
  /** By tenant: look-ups that go on until the store answers, or nobody waits for them any longer. */
  private readonly patient = new Map<string, PatientLookup>();
  /** All of them by their results, including those that nobody joins any more. */
  private readonly byResult = new WeakMap<Found, PatientLookup>();
  /** Timers of those who wait, which keep the process alive. */
  private readonly waits = new Set<Timer>();
  private readonly observers: ((change: DestinationChange | undefined) => void)[] = [];
  /** Tenants whose last look-up failed. */
  private readonly away = new Set<string>();
  private isAwayTold = false;
  private isClosed = false;

  constructor(private readonly parts: DestinationDirectoryParts) {
    const { store, feed } = parts;
    this.clock = parts.clock ?? SYSTEM_CLOCK;
    const limits = { size: MAX_REMEMBERED, slowBy: parts.mayHang === true ? this.clock : undefined };
    this.tenants = new LookupCache(async (tenant) => {
      // All of them may have given up before its turn came.
      if (this.patient.get(tenant)?.waiting === 0) throw new AnalyticsClosedError();
      const found = await store.findByTenant(tenant === '' ? undefined : tenant);
      // Most tenants have none, and one list for all of them stays in the processor's cache. A check brings no new list.
      return this.tenants.get(tenant) ?? (found.length === 0 ? NONE : found);
    }, limits);
    this.ids = new LookupCache(
      // The changes are counted first: others may come during the look-up.
      async (id) => ({ changes: this.changes.count, found: await store.findById(id) }),
      { ...limits, isOutdated: ({ found, changes }) => this.changes.concern(found, changes) },
    );
    this.watch = new ChangeWatch(feed, this.clock, (changes) => {
      if (changes === undefined) this.forgetAll();
      else for (const change of changes) this.forget(change);
    });
  }

  /** Whether what is remembered may be used now. */
  get isFresh(): boolean {
    return this.watch.isFresh;
  }

  /** What is remembered of a tenant, or with `''` of those without one. Ask `isFresh` first. */
  remembered(tenant: string): readonly DestinationRecord[] | undefined {
    return this.tenants.get(tenant);
  }

  /**
   * The destinations of a tenant, or those without one. While the store is away the promise waits for it;
   * nothing is guessed.
   *
   * @param asker takes turns with others, whatever each of them asks for
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

  /** One of those who wait for the destinations of a tenant waits no longer. @param result as `ofTenant` returned it */
  abandon(result: Found): void {
    const lookup = this.byResult.get(result);
    if (lookup !== undefined) lookup.waiting--;
  }

  /** Rejects while the store is away. */
  async find(id: string): Promise<DestinationRecord | 'deleted' | undefined> {
    if (!this.watch.isFresh) await this.watch.refresh();
    return (this.ids.get(id) ?? (await this.ids.load(id))).found;
  }

  /** What `find` has returned is in use: its changes are heard of, as if somebody had asked for it. */
  use(): void {
    this.watch.use();
  }

  /** Hears now what was changed until now. Rejects while that is not possible. */
  refresh(): Promise<void> {
    return this.watch.refresh();
  }

  /** Resolves when look-ups are answered, be it others. Rejects while they cannot be. */
  async check(): Promise<void> {
    await this.watch.refresh();
    // The application's own store may be away while the feed is not.
    if (this.parts.mayHang === true) await this.tenants.load('');
  }

  /** @param onChange called with each change; `undefined` if everything may have changed */
  observe(onChange: (change: DestinationChange | undefined) => void): void {
    this.observers.push(onChange);
  }

  /** Somebody has changed a destination, or any of a tenant, or of all. */
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

  /** Everything that is remembered may be wrong. */
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
    for (const wait of this.waits) wait.cancel();
  }

  /** Whoever asks after a change gets nothing older, as those may who have asked before it. */
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

  /** Nobody joins it any more. */
  private end(key: string, lookup: PatientLookup): void {
    if (this.patient.get(key) === lookup) this.patient.delete(key);
  }

  private async lookUp(key: string, lookup: PatientLookup): Found {
    // Messages wait for the answer, so the process must.
    const wait = this.clock.after(LONGEST_TIMER, () => undefined);
    this.waits.add(wait);
    try {
      for (;;) {
        const found = await this.attempt(key, lookup.askers);
        if (found !== undefined) return found;
        await this.pause();
        if (this.isClosed || lookup.waiting === 0) {
          // At once, so that nobody joins a look-up that has ended.
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
      const timer: Timer = this.clock.after(RETRY_INTERVAL, () => {
        timer.cancel();
        resolve();
      });
    });
  }
}

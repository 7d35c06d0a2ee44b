import { AnalyticsClosedError } from '../errors/message.errors.js';
import type { DestinationRecord, DestinationStore } from '../options/destination-store.js';
import { isTenantName } from '../options/tenant-name.js';
import { type Clock, LONGEST_TIMER, SYSTEM_CLOCK, type Timer } from '../shared/clock.js';
import { ChangeWatch } from './change-watch.js';
import type { DestinationChange, DestinationFeed } from './destination-feed.js';
import { LookupCache } from './lookup-cache.js';

/** Tenants, and destinations, that are remembered. */
const MAX_REMEMBERED = 20_000;
/** How often a look-up is repeated while the store is away, in milliseconds. */
const RETRY_INTERVAL = 250;
const NONE: readonly DestinationRecord[] = [];

/** A look-up that several may wait for. */
interface PatientLookup {
  waiting: number;
  readonly result: Promise<readonly DestinationRecord[]>;
}

export interface DestinationDirectoryParts {
  store: DestinationStore;
  feed: DestinationFeed;
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
  private readonly ids: LookupCache<{ found: DestinationRecord | 'deleted' | undefined }>;
  /** By tenant: look-ups that go on until the store answers, or nobody waits for them any longer. */
  private readonly patient = new Map<string, PatientLookup>();
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
    this.tenants = new LookupCache(async (tenant) => {
      const found = await store.findByTenant(tenant === '' ? undefined : tenant);
      // Most tenants have none, and one list for all of them stays in the processor's cache.
      return found.length === 0 ? NONE : found;
    }, MAX_REMEMBERED);
    this.ids = new LookupCache(async (id) => ({ found: await store.findById(id) }), MAX_REMEMBERED);
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
   */
  ofTenant(tenant: string | undefined): readonly DestinationRecord[] | Promise<readonly DestinationRecord[]> {
    const key = tenant ?? '';
    if (this.watch.isFresh) {
      const known = this.tenants.get(key);
      if (known !== undefined) return known;
    }
    if (tenant !== undefined && !isTenantName(tenant)) return NONE;
    const lookup = this.patient.get(key) ?? this.begin(key);
    lookup.waiting++;
    return lookup.result;
  }

  /**
   * One of those who wait for the destinations of a tenant, or for those without one, waits no longer.
   *
   * @param result as `ofTenant` returned it. There may be a later look-up, which others wait for
   */
  abandon(tenant: string | undefined, result: Promise<readonly DestinationRecord[]>): void {
    const lookup = this.patient.get(tenant ?? '');
    if (lookup?.result === result) lookup.waiting--;
  }

  /** Rejects while the store is away. */
  async find(id: string): Promise<DestinationRecord | 'deleted' | undefined> {
    if (!this.watch.isFresh) await this.watch.refresh();
    return (this.ids.get(id) ?? (await this.ids.load(id))).found;
  }

  /** @param onChange called with each change; `undefined` if everything may have changed */
  observe(onChange: (change: DestinationChange | undefined) => void): void {
    this.observers.push(onChange);
  }

  /** Somebody has changed a destination, or any of a tenant. */
  forget(change: DestinationChange): void {
    this.tenants.forget(change.tenant ?? '');
    if (change.id === undefined) this.ids.clear();
    else this.ids.forget(change.id);
    for (const onChange of this.observers) onChange(change);
  }

  /** Look-ups that have not ended reject. */
  close(): void {
    this.isClosed = true;
    this.watch.close();
    for (const wait of this.waits) wait.cancel();
  }

  private forgetAll(): void {
    this.tenants.clear();
    this.ids.clear();
    for (const onChange of this.observers) onChange(undefined);
  }

  private begin(key: string): PatientLookup {
    const result = this.lookUp(key).finally(() => {
      if (this.patient.get(key) === lookup) this.patient.delete(key);
    });
    const lookup: PatientLookup = { waiting: 0, result };
    this.patient.set(key, lookup);
    return lookup;
  }

  private async lookUp(key: string): Promise<readonly DestinationRecord[]> {
    // Messages wait for the answer, so the process must.
    const wait = this.clock.after(LONGEST_TIMER, () => undefined);
    this.waits.add(wait);
    try {
      for (;;) {
        const found = await this.attempt(key);
        if (found !== undefined) return found;
        await this.pause();
        if (this.isClosed || this.patient.get(key)?.waiting === 0) {
          // At once, so that nobody joins a look-up that has ended.
          this.patient.delete(key);
          throw new AnalyticsClosedError();
        }
      }
    } finally {
      wait.cancel();
      this.waits.delete(wait);
      this.away.delete(key);
    }
  }

  private async attempt(key: string): Promise<readonly DestinationRecord[] | undefined> {
    try {
      if (!this.watch.isFresh) await this.watch.refresh();
      const found = this.tenants.get(key) ?? (await this.tenants.load(key));
      this.away.delete(key);
      if (this.isAwayTold && this.away.size === 0) {
        this.isAwayTold = false;
        this.parts.onBack?.();
      }
      return found;
    } catch (error) {
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

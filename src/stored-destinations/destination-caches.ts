import { AnalyticsClosedError } from '../errors/message.errors.js';
import type { DestinationRecord, DestinationStore } from '../options/destination-store.js';
import type { Clock } from '../shared/clock.js';
import { changedAmong, isUnchanged } from './changed-destinations.js';
import type { DestinationChange } from './destination-feed.js';
import { LookupCache } from './lookup-cache.js';
import type { LookupTurns } from './lookup-turns.js';
import type { TenantChanges } from './tenant-changes.js';

/**
 * The asker for destinations by id. Many may be looked up at once, and messages whose destinations are looked up by their
 * tenant do not wait for all of these. No source has this name.
 */
export const BY_ID: readonly string[] = ['\u0001'];

/** Maximum number of tenants, and also of destinations, that are remembered. */
const MAX_REMEMBERED = 20_000;
/** Most tenants have no destinations: one list for all stays in the processor's cache. */
export const NONE: readonly DestinationRecord[] = [];

/** The result of a look-up, and the number of tenant changes that came before it. */
export interface KnownDestination {
  readonly found: DestinationRecord | 'deleted' | undefined;
  readonly changes: number;
}

export interface DestinationCacheParts {
  store: DestinationStore;
  /** Turns of the look-ups of both caches. @default each cache has its own */
  turns: LookupTurns | undefined;
  /** Clock that finds slow look-ups. @default they all end soon */
  slowBy: Clock | undefined;
  /** Called with a change that was found although no notice of it came. */
  onUnnoticed: (change: DestinationChange) => void;
}

/**
 * Creates the cache of destinations by tenant, with `''` for those without a tenant.
 *
 * @param isAbandoned whether nobody waits for a tenant's look-up any more
 */
export function createTenantCache(
  { store, turns, slowBy, onUnnoticed }: DestinationCacheParts,
  isAbandoned: (tenant: string) => boolean,
): LookupCache<readonly DestinationRecord[]> {
  const tenantOf = (key: string): string | undefined => (key === '' ? undefined : key);
  return new LookupCache(
    async (key) => {
      // All callers may have given up before the turn of this look-up came.
      if (isAbandoned(key)) throw new AnalyticsClosedError();
      const found = await store.findByTenant(tenantOf(key));
      return found.length === 0 ? NONE : found;
    },
    {
      size: MAX_REMEMBERED,
      turns,
      slowBy,
      renewed: (key, known, found) => {
        const changed = changedAmong(known, found);
        for (const id of changed) onUnnoticed({ tenant: tenantOf(key), id });
        return changed.size === 0 ? known : found;
      },
    },
  );
}

/** Creates the cache of destinations by id. @param changes those that name a tenant but no destination */
export function createIdCache(
  { store, turns, slowBy, onUnnoticed }: DestinationCacheParts,
  changes: TenantChanges,
): LookupCache<KnownDestination> {
  return new LookupCache(
    // The changes are counted first: others may come during the look-up.
    async (id) => ({ changes: changes.count, found: await store.findById(id) }),
    {
      size: MAX_REMEMBERED,
      turns,
      slowBy,
      isOutdated: (known) => changes.concern(known.found, known.changes),
      renewed: (id, known, value) => {
        if (isUnchanged(known.found, value.found)) return { ...value, found: known.found };
        const record = [known.found, value.found].find((one) => typeof one === 'object');
        onUnnoticed({ tenant: record?.tenant, id });
        return value;
      },
    },
  );
}

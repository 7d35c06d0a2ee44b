import type { DestinationProfile } from '../../destinations/destination-registry.js';
import { DestinationNotFoundError } from '../../errors/delivery.errors.js';
import type { UrlOutcome } from '../../queue/batch-job.js';
import type { EntryHead } from './history-entry.js';
import { ALL_DESTINATIONS, type HistoryStore, KEPT_ENTRIES, type StoredEntry } from './history-store.js';
import type { HourRange, HourStats, RecentDelivery, RecentQuery, StatsQuery } from './history.types.js';
import { HourCounts, hourOf, oldestHour } from './hour-counts.js';

/** Finds what callers may see of a destination. */
export interface DestinationProfiles {
  profile(id: string): Promise<DestinationProfile | undefined>;
}

/** Reads what happened at destinations, in any process. */
export class DeliveryHistory {
  /** @param now the time, in milliseconds since the epoch */
  constructor(
    private readonly store: HistoryStore,
    private readonly destinations: DestinationProfiles,
    private readonly now: () => number = Date.now,
  ) {}

  /** @throws DestinationNotFoundError */
  async recent({ destination, tenant, limit = KEPT_ENTRIES }: RecentQuery): Promise<RecentDelivery[]> {
    const profile = await this.profileOf(destination, tenant);
    const count = limit >= 1 ? Math.min(Math.floor(limit), KEPT_ENTRIES) : 1;
    const entries = await this.store.recent(destination, count, this.now());
    return entries.map((entry) => deliveryOf(entry, profile));
  }

  /** @throws DestinationNotFoundError */
  async stats({ destination, tenant, ...range }: StatsQuery): Promise<HourStats[]> {
    await this.profileOf(destination, tenant);
    return this.hoursOf(destination, range);
  }

  /** The same for all destinations together. */
  totals(range: HourRange): Promise<HourStats[]> {
    return this.hoursOf(ALL_DESTINATIONS, range);
  }

  private async hoursOf(destination: string, { from, to }: HourRange): Promise<HourStats[]> {
    const now = this.now();
    const first = Math.max(hourOf(Number(from ?? 0)), oldestHour(now));
    const last = Math.min(hourOf(Number(to ?? now)), hourOf(now));
    if (!(first <= last)) return [];
    const known = new Map(await this.store.hours(destination, first, last));
    return Array.from({ length: last - first + 1 }, (_, index) => {
      const hour = first + index;
      return HourCounts.of(known.get(hour) ?? {}).statsOf(hour);
    });
  }

  private async profileOf(id: string, tenant: string | undefined): Promise<DestinationProfile> {
    const profile = await this.destinations.profile(id);
    if (profile === undefined || (tenant !== undefined && profile.tenant !== tenant)) {
      throw new DestinationNotFoundError(id);
    }
    return profile;
  }
}

function deliveryOf(
  { messageId, ordinal, head, attempts }: StoredEntry,
  { originOf }: DestinationProfile,
): RecentDelivery {
  // Only the recorder writes these texts.
  const { type, event, source, state, error } = JSON.parse(head) as EntryHead;
  const outcomes = attempts.map((attempt) => JSON.parse(attempt) as UrlOutcome);
  return {
    messageId,
    type,
    ...(event !== undefined && { event }),
    source,
    state,
    ...(error !== undefined && { error }),
    at: Math.floor(ordinal / 1_000),
    attempts: outcomes
      .sort((one, other) => one.at - other.at)
      .map((outcome) => ({ ...outcome, origin: originOf(outcome.url) })),
  };
}

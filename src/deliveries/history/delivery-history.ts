import type { DestinationProfile } from '../../destinations/destination-registry.js';
import { DestinationNotFoundError } from '../../errors/delivery.errors.js';
import { TenantTurns } from '../../shared/tenant-turns.js';
import {
  ALL_DESTINATIONS,
  type HistoryStore,
  KEPT_ENTRIES,
  type PeriodLength,
  type StoredEntry,
} from './history-store.js';
import type {
  HourRange,
  HourStats,
  HourTotals,
  MinuteTotals,
  RecentDelivery,
  RecentQuery,
  StatsQuery,
} from './history.types.js';
import { HourCounts, hourOf, oldestHour } from './hour-counts.js';
import { minuteOf, totalsOfMinute } from './minute-counts.js';

/** Number of minutes that are returned, including the current minute. */
const TOLD_MINUTES = 60;

/** A range of hours or minutes, by number, both ends included. */
interface PeriodRange {
  first: number;
  last: number;
}

const NO_PERIODS: PeriodRange = { first: 0, last: -1 };

/** Tenant of the reads that cover all destinations together, or a destination without a tenant. */
const OPERATOR = '';

/** Finds what callers may see of a destination. */
export interface DestinationProfiles {
  profile(id: string): Promise<DestinationProfile | undefined>;
}

/** Reads what happened at destinations, in any process. */
export class DeliveryHistory {
  private readonly turns: TenantTurns;

  /** @param now the time, in milliseconds since the epoch */
  constructor(
    private readonly store: HistoryStore,
    private readonly destinations: DestinationProfiles,
    private readonly now: () => number = Date.now,
  ) {
    const { mostReads = Infinity } = store;
    this.turns = new TenantTurns(mostReads, mostReads);
  }

  /** @throws DestinationNotFoundError */
  async recent({ destination, tenant, limit = KEPT_ENTRIES }: RecentQuery): Promise<RecentDelivery[]> {
    const profile = await this.profileOf(destination, tenant);
    const entries = await this.turns.run(profile.tenant ?? OPERATOR, () =>
      this.store.recent(destination, limit, this.now()),
    );
    return entries.map((entry) => deliveryOf(entry, profile));
  }

  /** @throws DestinationNotFoundError */
  async stats({ destination, tenant, ...range }: StatsQuery): Promise<HourStats[]> {
    const profile = await this.profileOf(destination, tenant);
    return this.hoursOf(destination, this.hoursIn(range), profile.tenant);
  }

  /** Returns the statistics of all destinations together, and how many messages waited. */
  async totals(range: HourRange): Promise<HourTotals[]> {
    const hours = this.hoursIn(range);
    const [stats, waiting] = await Promise.all([
      this.hoursOf(ALL_DESTINATIONS, hours),
      this.waiting('hour', hours),
    ]);
    const known = new Map(waiting);
    return stats.map((one) => ({ ...one, waiting: known.get(hourOf(one.hour)) }));
  }

  /** Returns the totals of each minute of the last hour. */
  async totalsByMinute(): Promise<MinuteTotals[]> {
    const last = minuteOf(this.now());
    const first = last - TOLD_MINUTES + 1;
    const [minutes, waiting] = await Promise.all([
      this.turns.run(OPERATOR, () => this.store.minutes(first, last)),
      this.waiting('minute', { first, last }),
    ]);
    const [counts, messages] = [new Map(minutes), new Map(waiting)];
    return numbersIn({ first, last }).map((minute) =>
      totalsOfMinute(minute, counts.get(minute), messages.get(minute)),
    );
  }

  /** Returns the hours that are both requested and kept. */
  private hoursIn({ from, to }: HourRange): PeriodRange {
    const now = this.now();
    const first = Math.max(hourOf(Number(from ?? 0)), oldestHour(now));
    const last = Math.min(hourOf(Number(to ?? now)), hourOf(now));
    return first <= last ? { first, last } : NO_PERIODS;
  }

  private waiting(
    length: PeriodLength,
    { first, last }: PeriodRange,
  ): Promise<[number: number, messages: number][]> {
    return this.turns.run(OPERATOR, () => this.store.waiting(length, first, last));
  }

  private async hoursOf(destination: string, hours: PeriodRange, tenant = OPERATOR): Promise<HourStats[]> {
    const stored = await this.turns.run(tenant, () => this.store.hours(destination, hours.first, hours.last));
    const known = new Map(stored);
    return numbersIn(hours).map((hour) => HourCounts.of(known.get(hour) ?? {}).statsOf(hour));
  }

  private async profileOf(id: string, tenant: string | undefined): Promise<DestinationProfile> {
    const profile = await this.destinations.profile(id);
    if (profile === undefined || (tenant !== undefined && profile.tenant !== tenant)) {
      throw new DestinationNotFoundError(id);
    }
    return profile;
  }
}

function numbersIn({ first, last }: PeriodRange): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

function deliveryOf(
  { messageId, ordinal, head, attempts }: StoredEntry,
  { originOf }: DestinationProfile,
): RecentDelivery {
  const { type, event, source, state, error } = head;
  return {
    messageId,
    type,
    ...(event !== undefined && { event }),
    source,
    state,
    ...(error !== undefined && { error }),
    at: Math.floor(ordinal / 1_000),
    attempts: [...attempts]
      .sort((one, other) => one.at - other.at)
      .map((outcome) => ({ ...outcome, origin: originOf(outcome.url) })),
  };
}

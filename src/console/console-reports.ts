import type { SourceUsage } from '../client/source-usage.js';
import type { ResolvedOptions, ResolvedSource } from '../options/resolved-options.js';
import type { DeliveriesService } from '../deliveries/deliveries.service.js';
import type { HourStats, HourTotals, MinuteTotals } from '../deliveries/history/history.types.js';
import type { DestinationsService } from '../stored-destinations/destinations.service.js';
import type { DestinationDetails, DestinationScope } from '../stored-destinations/destinations.types.js';
import { TimeSlice } from '../shared/time-slice.js';
import { DestinationsReadOnlyError } from '../errors/destination.errors.js';
import { HistoryDisabledError } from '../errors/delivery.errors.js';
import type {
  AnalyticsHealth,
  AnalyticsHealthIndicator,
} from '../observability/analytics-health.indicator.js';
import { SharedLook } from './shared-look.js';

/** Destinations that are looked at: only disabled ones, where the store finds these itself. */
const MAX_DESTINATIONS = 1_000;
/** Those of them that are read at a time: each is parsed and decrypted on this thread. */
const PAGE_SIZE = 100;
const HOUR = 3_600_000;

/** How analytics is doing, for the operator. */
export interface Overview {
  /** The queue over all processes; the rest as this process knows it. */
  health: AnalyticsHealth;
  /** The rest; `undefined` while the queue's database does not answer. */
  stored: StoredOverview | undefined;
}

/** What is stored beside the queue. */
interface StoredOverview {
  /** What happened in each hour of the last seven days; `undefined` where no history is kept. */
  hours: HourTotals[] | undefined;
  /** The same for each minute of the last hour. */
  minutes: MinuteTotals[] | undefined;
  /** Destinations at run time that are disabled; `undefined` where the application's own store lists none. */
  disabled: DestinationDetails[] | undefined;
  /** How many destinations were looked at for them, unless these are all that are disabled. */
  lookedAt: number | undefined;
}

/** What a look at the destinations has found. */
interface DisabledDestinations {
  found: DestinationDetails[];
  /** As in `StoredOverview`. */
  lookedAt: number | undefined;
}

/** A source, for those who connect a client to it. */
export interface SourceReport extends Pick<ResolvedSource, 'name' | 'writeKey' | 'enabled' | 'tenant'> {
  /** Since this process started. */
  usage: SourceUsage;
}

/** The sources of this application. */
export interface Sources {
  sources: SourceReport[];
  /** Prefix of `/v1/…`; `undefined` where the tracking API is not served. */
  trackingPath: string | undefined;
}

/** A destination, and what has happened there lately: it differs as soon as something more happens. */
export interface DestinationState {
  details: DestinationDetails;
  /** This hour and the one before it; `undefined` where no history is kept. */
  hours: HourStats[] | undefined;
}

export interface ReportParts {
  options: Pick<ResolvedOptions, 'sources' | 'trackingApi'>;
  usageOf: (source: string) => SourceUsage;
  deliveries: Pick<DeliveriesService, 'totals' | 'totalsByMinute' | 'stats'>;
  destinations: Pick<DestinationsService, 'list' | 'get'>;
  health: Pick<AnalyticsHealthIndicator, 'isHealthy'>;
}

/** What the console tells the operator beside what the API of the destinations tells. */
export class ConsoleReports {
  private readonly health = new SharedLook(() => this.parts.health.isHealthy('queue'));
  private readonly stored = new SharedLook(() => this.look());

  constructor(private readonly parts: ReportParts) {}

  /** Looked at once for all pages of the operator, which show the same. */
  async overview(): Promise<Overview> {
    const { queue } = await this.health.take();
    // Whoever looks because the queue is down must not wait for it to hear that.
    return { health: queue, stored: queue.waiting === undefined ? undefined : await this.stored.take() };
  }

  /** @throws DestinationNotFoundError, also for a destination of another tenant */
  async destination(id: string, scope: DestinationScope): Promise<DestinationState> {
    const { deliveries, destinations } = this.parts;
    const [details, hours] = await Promise.all([
      destinations.get(id, scope),
      unless(HistoryDisabledError, deliveries.stats({ destination: id, ...scope, from: Date.now() - HOUR })),
    ]);
    return { details, hours };
  }

  sources(): Promise<Sources> {
    const { options, usageOf } = this.parts;
    const sources = options.sources.map(({ name, writeKey, enabled, tenant }) => ({
      name,
      writeKey,
      enabled,
      tenant,
      usage: usageOf(name),
    }));
    return Promise.resolve({ sources, trackingPath: options.trackingApi?.path });
  }

  private async look(): Promise<StoredOverview> {
    const { deliveries } = this.parts;
    const [hours, minutes, disabled] = await Promise.all([
      unless(HistoryDisabledError, deliveries.totals()),
      unless(HistoryDisabledError, deliveries.totalsByMinute()),
      unless(DestinationsReadOnlyError, this.disabled()),
    ]);
    return { hours, minutes, disabled: disabled?.found, lookedAt: disabled?.lookedAt };
  }

  private async disabled(): Promise<DisabledDestinations> {
    const slice = new TimeSlice();
    const found: DestinationDetails[] = [];
    let cursor: string | undefined;
    for (let read = 0; read < MAX_DESTINATIONS; read += PAGE_SIZE) {
      const page = await this.parts.destinations.list({ enabled: false, cursor, limit: PAGE_SIZE });
      found.push(...page.destinations);
      ({ cursor } = page);
      if (cursor === undefined) return { found, lookedAt: undefined };
      await slice.check();
    }
    return { found, lookedAt: MAX_DESTINATIONS };
  }
}

/** `undefined` where the application has turned it off. */
async function unless<T>(isOff: new () => Error, result: Promise<T>): Promise<T | undefined> {
  try {
    return await result;
  } catch (error) {
    if (error instanceof isOff) return undefined;
    throw error;
  }
}

import type { SourceUsage } from '../client/source-usage.js';
import type { ResolvedOptions, ResolvedSource } from '../options/resolved-options.js';
import type { DeliveriesService } from '../deliveries/deliveries.service.js';
import type { HourStats, HourTotals, MinuteTotals } from '../deliveries/history/history.types.js';
import type { DestinationsService } from '../stored-destinations/destinations.service.js';
import type { DestinationDetails, DestinationScope } from '../stored-destinations/destinations.types.js';
import { DestinationsReadOnlyError } from '../errors/destination.errors.js';
import { HistoryDisabledError } from '../errors/delivery.errors.js';
import type {
  AnalyticsHealth,
  AnalyticsHealthIndicator,
} from '../observability/analytics-health.indicator.js';
import { type DisabledDestination, disabledDestinations } from './disabled-destinations.js';
import { SharedLook } from './shared-look.js';

/** How long a report may take, in milliseconds. */
export const REPORT_PATIENCE = 10_000;

const HOUR = 3_600_000;
const MINUTE = 60_000;
/** By how much an age of less than a minute has to differ for the overview to differ, in milliseconds. */
const AGE_STEP = 10_000;
/** The fields of the overview that grow with each look while nothing else changes. */
const AGES: readonly string[] = ['oldest', 'oldestAge'];

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
  disabled: DisabledDestination[] | undefined;
  /** How many more of them were found; `undefined` for none. */
  moreDisabled: number | undefined;
  /** How many destinations were looked at for them, unless these are all that are disabled. */
  lookedAt: number | undefined;
}

/** What a look has seen, and a text that differs as soon as pages would show something else. */
interface Seen<T> {
  value: T;
  text: string;
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
  private readonly health = new SharedLook(async () =>
    seen((await this.parts.health.isHealthy('queue')).queue),
  );
  private readonly stored = new SharedLook(async () => seen(await this.look()));

  constructor(private readonly parts: ReportParts) {}

  /** Looked at once for all pages of the operator, which show the same. */
  async overview(): Promise<Overview> {
    const { value: health } = await this.health.take();
    // Whoever looks because the queue is down must not wait for it to hear that.
    const stored = health.waiting === undefined ? undefined : (await this.stored.take()).value;
    return { health, stored };
  }

  /** Another text whenever the overview may be another one. It is made once for all who wait for that. */
  async overviewText(): Promise<string> {
    const { value, text } = await this.health.watch();
    return value.waiting === undefined ? text : text + (await this.stored.watch()).text;
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
    const { deliveries, destinations } = this.parts;
    const [hours, minutes, disabled] = await Promise.all([
      unless(HistoryDisabledError, deliveries.totals()),
      unless(HistoryDisabledError, deliveries.totalsByMinute()),
      unless(DestinationsReadOnlyError, disabledDestinations(destinations)),
    ]);
    return {
      hours,
      minutes,
      disabled: disabled?.shown,
      moreDisabled: disabled?.more,
      lookedAt: disabled?.lookedAt,
    };
  }
}

function seen<T extends object>(value: T): Seen<T> {
  const text = JSON.stringify(value, (name, field: unknown) =>
    AGES.includes(name) && typeof field === 'number' ? coarse(field) : field,
  );
  return { value, text };
}

/** An age to within ten seconds, and to within a minute from the first one on. */
function coarse(age: number): number {
  const step = age < MINUTE ? AGE_STEP : MINUTE;
  return Math.floor(age / step) * step;
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

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
/** Step to which ages below a minute are rounded down when overviews are compared, in milliseconds. */
const AGE_STEP = 10_000;
/** Fields of the overview that grow with each look even if nothing else changes. */
const AGES: readonly string[] = ['oldest', 'oldestAge'];

/** How analytics is doing, for the operator. */
export interface Overview {
  /** State of the queue over all processes, and of everything else as this process knows it. */
  health: AnalyticsHealth;
  /** History and disabled destinations; `undefined` while the queue's database does not answer. */
  stored: StoredOverview | undefined;
}

/** What is stored beside the queue. */
interface StoredOverview {
  /** What happened in each hour of the last seven days; `undefined` if no history is kept. */
  hours: HourTotals[] | undefined;
  /** The same for each minute of the last hour. */
  minutes: MinuteTotals[] | undefined;
  /** Disabled run-time destinations; `undefined` if the application's own store cannot list destinations. */
  disabled: DisabledDestination[] | undefined;
  /** Number of disabled destinations found beyond these; `undefined` for none. */
  moreDisabled: number | undefined;
  /** Number of destinations that were searched; `undefined` if the search was complete. */
  lookedAt: number | undefined;
}

/** What a look has found, and a text that changes as soon as pages would show something else. */
interface Seen<T> {
  value: T;
  text: string;
}

/** A source, with what is needed to connect a client to it. */
export interface SourceReport extends Pick<ResolvedSource, 'name' | 'writeKey' | 'enabled' | 'tenant'> {
  /** Counts since this process started. */
  usage: SourceUsage;
}

/** The sources of this application. */
export interface Sources {
  sources: SourceReport[];
  /** Prefix of `/v1/…`; `undefined` if the tracking API is not served. */
  trackingPath: string | undefined;
}

/** A destination, and what has happened there lately. Changes as soon as something more happens. */
export interface DestinationState {
  details: DestinationDetails;
  /** This hour and the previous hour; `undefined` if no history is kept. */
  hours: HourStats[] | undefined;
}

export interface ReportParts {
  options: Pick<ResolvedOptions, 'sources' | 'trackingApi'>;
  usageOf: (source: string) => SourceUsage;
  deliveries: Pick<DeliveriesService, 'totals' | 'totalsByMinute' | 'stats'>;
  destinations: Pick<DestinationsService, 'list' | 'get'>;
  health: Pick<AnalyticsHealthIndicator, 'isHealthy'>;
}

/** Reads what the console shows beyond the data of the destinations API. */
export class ConsoleReports {
  private readonly health = new SharedLook(async () =>
    seen((await this.parts.health.isHealthy('queue')).queue),
  );
  private readonly stored = new SharedLook(async () => seen(await this.look()));

  constructor(private readonly parts: ReportParts) {}

  /** Resolves to the overview. All pages of the operator share one look, since they show the same. */
  async overview(): Promise<Overview> {
    const { value: health } = await this.health.take();
    // If the queue is down, the operator must learn so without waiting for its database.
    const stored = health.waiting === undefined ? undefined : (await this.stored.take()).value;
    return { health, stored };
  }

  /** Resolves to a text that changes whenever the overview may have changed. All waiting pages share one look. */
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

/** Rounds an age down to ten seconds, or to a whole minute if it is at least a minute. */
function coarse(age: number): number {
  const step = age < MINUTE ? AGE_STEP : MINUTE;
  return Math.floor(age / step) * step;
}

/** Resolves to the result, or to `undefined` if the application has turned the feature off. */
async function unless<T>(isOff: new () => Error, result: Promise<T>): Promise<T | undefined> {
  try {
    return await result;
  } catch (error) {
    if (error instanceof isOff) return undefined;
    throw error;
  }
}

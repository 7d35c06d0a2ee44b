import type { DeliveriesService } from '../deliveries/deliveries.service.js';
import type { HourStats } from '../deliveries/history/history.types.js';
import type { DestinationsService } from '../destinations/destinations.service.js';
import type { DestinationDetails } from '../destinations/destinations.types.js';
import { DestinationsReadOnlyError } from '../errors/destination.errors.js';
import { HistoryDisabledError } from '../errors/delivery.errors.js';
import type {
  AnalyticsHealth,
  AnalyticsHealthIndicator,
} from '../observability/analytics-health.indicator.js';

/** Destinations that are looked at for those that are disabled. */
const MAX_DESTINATIONS = 1_000;

/** How analytics is doing, for the operator. */
export interface Overview {
  /** The queue over all processes; the rest as this process knows it. */
  health: AnalyticsHealth;
  /** What happened in each hour of the last seven days; `undefined` where no history is kept. */
  hours: HourStats[] | undefined;
  /** Destinations at run time that are disabled, of the first thousand. */
  disabled: DestinationDetails[];
}

export interface ReportParts {
  deliveries: Pick<DeliveriesService, 'totals'>;
  destinations: Pick<DestinationsService, 'list'>;
  health: Pick<AnalyticsHealthIndicator, 'isHealthy'>;
}

/** What the console tells the operator beside what the API of the destinations tells. */
export class ConsoleReports {
  constructor(private readonly parts: ReportParts) {}

  async overview(): Promise<Overview> {
    const { deliveries, health } = this.parts;
    const [{ queue }, hours, disabled] = await Promise.all([
      health.isHealthy('queue'),
      unless(HistoryDisabledError, deliveries.totals()),
      unless(DestinationsReadOnlyError, this.disabled()),
    ]);
    return { health: queue, hours, disabled: disabled ?? [] };
  }

  private async disabled(): Promise<DestinationDetails[]> {
    const { destinations } = await this.parts.destinations.list({ limit: MAX_DESTINATIONS });
    return destinations.filter(({ enabled }) => !enabled);
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

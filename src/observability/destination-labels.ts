import type { CustomDestinations } from '../custom-destinations/custom-destinations.js';
import { forwardingId } from '../options/resolve-forwarding.js';
import type { ResolvedOptions } from '../options/resolved-options.js';

/** The name that destinations at run time share, and jobs of destinations that are not known here. */
const OTHERS = 'run-time';

/** Names destinations in metrics. Their number is limited by the options, unless each one is asked for. */
export class DestinationLabels {
  private readonly ids: Set<string>;
  private readonly isEach: boolean;

  constructor(
    {
      webhooks,
      sources,
      forwarding,
      metrics,
    }: Pick<ResolvedOptions, 'webhooks' | 'sources' | 'forwarding' | 'metrics'>,
    custom: Pick<CustomDestinations, 'whenKnown'>,
  ) {
    this.ids = new Set(
      forwarding === undefined ? webhooks.map(({ id }) => id) : sources.map(({ name }) => forwardingId(name)),
    );
    this.isEach = metrics.eachDestination;
    // Nothing is measured of those that are classes before they are known.
    custom.whenKnown((all) => {
      for (const { id } of all) this.ids.add(id);
    });
  }

  /** The configured ones. */
  get known(): readonly string[] {
    return [...this.ids];
  }

  of(id: string): string {
    return this.isEach || this.ids.has(id) ? id : OTHERS;
  }
}

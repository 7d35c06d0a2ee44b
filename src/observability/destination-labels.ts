import type { CustomDestinations } from '../custom-destinations/custom-destinations.js';
import { forwardingId } from '../options/resolve-forwarding.js';
import type { ResolvedOptions } from '../options/resolved-options.js';

/** Label of all destinations at run time, and of jobs whose destination this process does not know. */
const OTHERS = 'run-time';

/** Labels destinations in metrics. The options limit the number of labels, unless `eachDestination` is set. */
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
    // Nothing is measured of a custom destination that is a class before its id is known.
    custom.whenKnown((all) => {
      for (const { id } of all) this.ids.add(id);
    });
  }

  /** Ids of the configured destinations. */
  get known(): readonly string[] {
    return [...this.ids];
  }

  of(id: string): string {
    return this.isEach || this.ids.has(id) ? id : OTHERS;
  }
}

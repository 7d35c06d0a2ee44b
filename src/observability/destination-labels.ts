import { forwardingId } from '../options/resolve-forwarding.js';
import type { ResolvedOptions } from '../options/resolved-options.js';

/** The name that destinations at run time share, and jobs of destinations that are not known here. */
const OTHERS = 'run-time';

/** Names destinations in metrics. Their number is limited by the options, unless each one is asked for. */
export class DestinationLabels {
  /** The configured ones. */
  readonly known: readonly string[];
  private readonly ids: ReadonlySet<string>;
  private readonly isEach: boolean;

  constructor({
    webhooks,
    sources,
    forwarding,
    metrics,
  }: Pick<ResolvedOptions, 'webhooks' | 'sources' | 'forwarding' | 'metrics'>) {
    this.known =
      forwarding === undefined ? webhooks.map(({ id }) => id) : sources.map(({ name }) => forwardingId(name));
    this.ids = new Set(this.known);
    this.isEach = metrics.eachDestination;
  }

  of(id: string): string {
    return this.isEach || this.ids.has(id) ? id : OTHERS;
  }
}

import type { Route } from './router.js';

/** What a source has taken since this process started, in calls. */
export interface SourceUsage {
  /** Calls that passed their checks, including those that were filtered. */
  received: number;
  /** Calls that the source's `schema` kept from all of their destinations. */
  filtered: number;
}

/** Counts the calls of each source. */
export class SourceUsages {
  private readonly usages = new Map<string, SourceUsage>();

  of(source: string): SourceUsage {
    let usage = this.usages.get(source);
    if (usage === undefined) this.usages.set(source, (usage = { received: 0, filtered: 0 }));
    return usage;
  }

  /** @param route route of the call, if it is known */
  count(source: string, route: Route | undefined): void {
    const usage = this.of(source);
    usage.received++;
    if (route?.isFiltered === true) usage.filtered++;
  }
}

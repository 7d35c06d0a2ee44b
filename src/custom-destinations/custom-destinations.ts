import type { OnModuleInit } from '@nestjs/common';
import type { CustomDestinationClass } from '../options/custom-destination.interface.js';
import {
  type ResolvedCustomDestination,
  type ResolvedCustomDestinations,
  resolveInstances,
} from '../options/resolve-custom-destinations.js';

export interface CustomDestinationsParts {
  given: ResolvedCustomDestinations;
  /** Names of the sources. */
  sources: readonly string[];
  /** Ids of other destinations. */
  taken: readonly string[];
  /** Returns the instance of a class, with its dependencies. */
  instantiate: (type: CustomDestinationClass) => unknown;
}

/**
 * The custom destinations. Classes are instantiated once all providers of the application exist, since their
 * dependencies may themselves depend on analytics.
 */
export class CustomDestinations implements OnModuleInit {
  private all: readonly ResolvedCustomDestination[] | undefined;
  private readonly observers: ((all: readonly ResolvedCustomDestination[]) => void)[] = [];

  constructor(private readonly parts: CustomDestinationsParts) {
    if (parts.given.classes.size === 0) this.all = parts.given.objects;
  }

  /** All custom destinations, or `undefined` until the instances are made. */
  get known(): readonly ResolvedCustomDestination[] | undefined {
    return this.all;
  }

  /** Calls back once the destinations are known: immediately if they already are. */
  whenKnown(callback: (all: readonly ResolvedCustomDestination[]) => void): void {
    if (this.all === undefined) this.observers.push(callback);
    else callback(this.all);
  }

  /** @throws InvalidOptionsError; and what Nest throws if a dependency is missing */
  async onModuleInit(): Promise<void> {
    if (this.all !== undefined) return;
    const { given, sources, taken, instantiate } = this.parts;
    const instances = new Map<number, unknown>();
    for (const [index, type] of given.classes) instances.set(index, await instantiate(type));
    const ids = [...taken, ...given.objects.map(({ id }) => id)];
    this.all = [...given.objects, ...resolveInstances(instances, sources, ids)];
    for (const callback of this.observers.splice(0)) callback(this.all);
  }
}

import type { Provider } from '@nestjs/common';
import { ModuleRef, ModulesContainer } from '@nestjs/core';
import { RESOLVED_OPTIONS } from '../options/options.tokens.js';
import { type ResolvedOptions, sourceNames } from '../options/resolved-options.js';
import { CustomDestinations } from './custom-destinations.js';

function createCustom(
  { customDestinations, sources, webhooks }: ResolvedOptions,
  moduleRef: ModuleRef,
  modules: ModulesContainer,
): CustomDestinations {
  return new CustomDestinations({
    given: customDestinations,
    sources: sourceNames(sources),
    taken: webhooks.map(({ id }) => id),
    instantiate: (type) => {
      const isProvided = [...modules.values()].some(({ providers }) => providers.has(type));
      return isProvided ? moduleRef.get(type, { strict: false }) : moduleRef.create(type);
    },
  });
}

/** The destinations in the application's own code. */
export const CUSTOM_DESTINATIONS_PROVIDERS: Provider[] = [
  {
    provide: CustomDestinations,
    inject: [RESOLVED_OPTIONS, ModuleRef, ModulesContainer],
    useFactory: createCustom,
  },
];

import {
  ConfigurableModuleBuilder,
  type DynamicModule,
  type FactoryProvider,
  type Provider,
} from '@nestjs/common';
import { AnalyticsService } from './analytics.service.js';
import { SERVICES } from './analytics.services.js';
import { AnalyticsClient } from './client/analytics-client.js';
import { getAnalyticsToken } from './inject-analytics.decorator.js';
import { OptionsFactoryError } from './errors/setup.errors.js';
import { aliasesOfCopies, registerCopy } from './loaded-copies.js';
import { MODULE_EXTRAS, MODULE_OPTIONS, RESOLVED_OPTIONS } from './options/options.tokens.js';
import type { AnalyticsStatus } from './observability/analytics-status.js';
import { READ_STATUS } from './observability/observability.providers.js';
import { type ResolvedOptions, sourceNames } from './options/resolved-options.js';
import type { AnalyticsModuleOptions, TrackingApiOptions } from './options/analytics-options.interface.js';

/** Options that shape the module graph. They go next to `useFactory`, not in the options that it returns. */
export interface AnalyticsModuleExtras {
  /** Whether every module can inject the services without an import. @default true */
  isGlobal?: boolean | undefined;
  /** `false`: this process only adds to the queue, and another one delivers. @default true */
  worker?: boolean | undefined;
  /**
   * Serves the HTTP tracking API (`/v1/batch` and its siblings), to which web pages, mobile apps and other
   * servers send messages. It runs on the application's own web server (Express or Fastify), and answers once the
   * messages are in the queue. This option has no effect in an application without a web server. @default false
   */
  trackingApi?: boolean | TrackingApiOptions | undefined;
  /**
   * Names of the sources that `@InjectAnalytics(name)` injects. `forRoot` finds them in its options.
   * `forRootAsync` needs them here, since providers are created before the options exist. @default those of
   * `forRoot`
   */
  sourceNames?: string[] | undefined;
}

// Every extra has a key, even without a value: the keys tell extras from options.
const DEFAULT_EXTRAS: AnalyticsModuleExtras = {
  isGlobal: true,
  worker: true,
  trackingApi: false,
  sourceNames: [],
};

registerCopy(SERVICES);

/** Returns providers of the sources' clients, under the tokens of `@InjectAnalytics(name)`. */
function sourceProviders(names: readonly string[]): Provider[] {
  return names.map((name) => ({
    provide: getAnalyticsToken(name),
    inject: [AnalyticsClient, RESOLVED_OPTIONS, READ_STATUS],
    useFactory: (client: AnalyticsClient, { sources }: ResolvedOptions, readStatus: () => AnalyticsStatus) =>
      new AnalyticsService(client, sourceNames(sources), readStatus, name),
  }));
}

/** Returns the valid names, for the module graph. Wrong extras are reported later, together with the options. */
function namesIn(sourceNames: unknown): string[] {
  return Array.isArray(sourceNames) ? sourceNames.filter((name) => typeof name === 'string') : [];
}

/** Marks an error as one that the application's own factory threw. */
function guarded(provider: Provider): Provider {
  if (!isOptionsFactory(provider)) return provider;
  return {
    ...provider,
    useFactory: async (...injected: unknown[]): Promise<unknown> => {
      try {
        return await provider.useFactory(...injected);
      } catch (error) {
        throw new OptionsFactoryError(error);
      }
    },
  };
}

function isOptionsFactory(provider: Provider): provider is FactoryProvider<unknown> {
  return 'useFactory' in provider && provider.provide === MODULE_OPTIONS;
}

/**
 * Returns what is checked as extras. Next to a factory, that is everything that Nest does not use, so that misspelt and
 * misplaced names are reported. In `forRoot`, it is only the known extras: the options are checked themselves.
 */
function extrasIn({ providers = [] }: DynamicModule, extras: AnalyticsModuleExtras): object {
  const isBesideFactory = providers.some(isOptionsFactory);
  const isExtra = (name: string): boolean =>
    isBesideFactory ? name !== 'global' : Object.hasOwn(DEFAULT_EXTRAS, name);
  return Object.fromEntries(Object.entries(extras).filter(([name]) => isExtra(name)));
}

export const { ConfigurableModuleClass, OPTIONS_TYPE, ASYNC_OPTIONS_TYPE } =
  new ConfigurableModuleBuilder<AnalyticsModuleOptions>({
    moduleName: 'Analytics',
    optionsInjectionToken: MODULE_OPTIONS,
  })
    .setClassMethodName('forRoot')
    .setFactoryMethodName('createAnalyticsOptions')
    .setExtras(DEFAULT_EXTRAS, (definition, extras) => {
      const aliases = aliasesOfCopies(SERVICES);
      return {
        ...definition,
        global: extras.isGlobal ?? true,
        providers: [
          ...(definition.providers ?? []).map(guarded),
          ...sourceProviders(namesIn(extras.sourceNames)),
          ...aliases,
          { provide: MODULE_EXTRAS, useValue: extrasIn(definition, extras) },
        ],
        exports: [
          ...(definition.exports ?? []),
          ...namesIn(extras.sourceNames).map(getAnalyticsToken),
          ...aliases.map(({ provide }) => provide),
        ],
      };
    })
    .build();

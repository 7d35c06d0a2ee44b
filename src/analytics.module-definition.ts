import { ConfigurableModuleBuilder } from '@nestjs/common';
import { getAnalyticsToken } from './inject-analytics.decorator.js';
import { SOURCE_NAMES_EXTRA, TRACKING_API_EXTRA, WORKER_EXTRA } from './options/options.tokens.js';
import type { AnalyticsModuleOptions, TrackingApiOptions } from './options/analytics-options.interface.js';
import { sourceProviders } from './sources.providers.js';

/** What shapes the module graph, and so stands beside `useFactory` rather than in what it returns. */
export interface AnalyticsModuleExtras {
  /** Whether `AnalyticsService` can be injected anywhere without an import. @default true */
  isGlobal?: boolean;
  /** `false` makes a process that only produces; another one delivers. @default true */
  worker?: boolean;
  /**
   * Serves the HTTP tracking API, to which web pages, mobile apps and other servers send: `/v1/batch` and its
   * like, on the application's own web server (Express or Fastify), and answered once the messages are in
   * the queue. Needs a web server; in an application without one it is without effect. @default false
   */
  trackingApi?: boolean | TrackingApiOptions;
  /**
   * Names of the sources that `@InjectAnalytics(name)` injects. `forRoot` finds them in its options;
   * `forRootAsync` is told, since providers are made before there are options. @default those of `forRoot`
   */
  sourceNames?: string[];
}

// Each has a key, also where it has no value: extras are told from options by these.
const DEFAULT_EXTRAS: AnalyticsModuleExtras = {
  isGlobal: true,
  worker: true,
  trackingApi: false,
  sourceNames: [],
};

export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN, OPTIONS_TYPE, ASYNC_OPTIONS_TYPE } =
  new ConfigurableModuleBuilder<AnalyticsModuleOptions>({ moduleName: 'Analytics' })
    .setClassMethodName('forRoot')
    .setFactoryMethodName('createAnalyticsOptions')
    .setExtras(
      DEFAULT_EXTRAS,
      (definition, { isGlobal = true, worker = true, trackingApi = false, sourceNames = [] }) => ({
        ...definition,
        global: isGlobal,
        providers: [
          ...(definition.providers ?? []),
          ...sourceProviders(sourceNames),
          { provide: TRACKING_API_EXTRA, useValue: trackingApi },
          { provide: SOURCE_NAMES_EXTRA, useValue: sourceNames },
          { provide: WORKER_EXTRA, useValue: worker },
        ],
        exports: [...(definition.exports ?? []), ...sourceNames.map(getAnalyticsToken)],
      }),
    )
    .build();

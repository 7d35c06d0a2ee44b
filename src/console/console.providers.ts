import type { Provider } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { AnalyticsClient } from '../client/analytics-client.js';
import { DeliveriesService } from '../deliveries/deliveries.service.js';
import { CONSOLE_LINKS } from '../destinations-api/destinations-api.providers.js';
import type { ConsoleLinks } from '../destinations-api/links/console-links.js';
import { DestinationsService } from '../stored-destinations/destinations.service.js';
import type { HttpHandler } from '../http/http-handler.js';
import { mountHandler } from '../http/mount-handler.js';
import { LiveEvents } from '../live/live-events.js';
import { LIVE_FEED } from '../live/live.providers.js';
import type { LiveFeed } from '../live/live-feed.js';
import { AnalyticsHealthIndicator } from '../observability/analytics-health.indicator.js';
import { RESOLVED_OPTIONS } from '../options/options.tokens.js';
import type { ResolvedOptions } from '../options/resolved-options.js';
import { ApplicationEnd } from '../shared/application-end.js';
import { ConsoleService } from './console.service.js';

const HANDLER = Symbol('nestjs-analytics:console');
const MOUNT = Symbol('nestjs-analytics:console-mount');

// An application without a console loads nothing of it.
async function createHandler(
  options: ResolvedOptions,
  links: ConsoleLinks | undefined,
  deliveries: DeliveriesService,
  service: DestinationsService,
  health: AnalyticsHealthIndicator,
  client: AnalyticsClient,
  feed: LiveFeed | undefined,
  live: LiveEvents | undefined,
): Promise<HttpHandler | undefined> {
  const { console, destinations, shutdownTimeout } = options;
  if (console === undefined || destinations?.api === undefined) return undefined;
  // Both exist if the application has destinations at run time.
  if (feed === undefined || live === undefined) return undefined;
  const { createConsole } = await import('./create-console.js');
  return createConsole(console, {
    apiPath: destinations.api.path,
    links,
    feed,
    live,
    shutdownTimeout,
    reports: {
      options,
      usageOf: (source) => client.usageOf(source),
      deliveries,
      destinations: service,
      health,
    },
  });
}

/** Providers of the console, on which destinations are managed. */
export const CONSOLE_PROVIDERS: Provider[] = [
  {
    provide: ConsoleService,
    inject: [RESOLVED_OPTIONS, CONSOLE_LINKS, ApplicationEnd],
    useFactory: ({ console }: ResolvedOptions, links: ConsoleLinks | undefined, end: ApplicationEnd) =>
      new ConsoleService(end.guarding(console && links && { links, path: console.path })),
  },
  {
    provide: HANDLER,
    inject: [
      RESOLVED_OPTIONS,
      CONSOLE_LINKS,
      DeliveriesService,
      DestinationsService,
      AnalyticsHealthIndicator,
      AnalyticsClient,
      LIVE_FEED,
      LiveEvents,
    ],
    useFactory: createHandler,
  },
  { provide: MOUNT, inject: [HttpAdapterHost, HANDLER], useFactory: mountHandler },
];

import { Logger, type Provider } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { AnalyticsClient } from '../client/analytics-client.js';
import { DeliveriesService } from '../deliveries/deliveries.service.js';
import { Authorizer } from '../destinations-api/authorizer.js';
import { ConsoleLinks } from '../destinations-api/links/console-links.js';
import { DestinationsService } from '../destinations/destinations.service.js';
import { HttpMount } from '../http/http-mount.js';
import { AnalyticsHealthIndicator } from '../observability/analytics-health.indicator.js';
import { RESOLVED_OPTIONS } from '../options/options.tokens.js';
import type { ResolvedOptions } from '../options/resolved-options.js';
import { LimitedLog } from '../queue/limited-log.js';
import { ConsoleHandler } from './console.handler.js';
import { ConsoleReports } from './console-reports.js';
import { ConsoleService } from './console.service.js';

const MOUNT = Symbol('nestjs-analytics:console-mount');

function createHandler(
  options: ResolvedOptions,
  links: ConsoleLinks | undefined,
  deliveries: DeliveriesService,
  service: DestinationsService,
  health: AnalyticsHealthIndicator,
  client: AnalyticsClient,
): ConsoleHandler | undefined {
  const { console, destinations } = options;
  if (console === undefined || destinations?.api === undefined) return undefined;
  const logger = new Logger('Analytics');
  const log = new LimitedLog(logger, () => performance.now());
  return new ConsoleHandler({
    authorizer: new Authorizer(console.authorize, 'console.authorize', log, links),
    path: console.path,
    frameAncestors: console.frameAncestors,
    apiPath: destinations.api.path,
    reports: new ConsoleReports({
      options,
      usageOf: (source) => client.usageOf(source),
      deliveries,
      destinations: service,
      health,
    }),
    logger,
  });
}

/** The page on which destinations are managed. */
export const CONSOLE_PROVIDERS: Provider[] = [
  {
    provide: ConsoleService,
    inject: [RESOLVED_OPTIONS, ConsoleLinks],
    useFactory: ({ console }: ResolvedOptions, links: ConsoleLinks | undefined) =>
      new ConsoleService(console && links && { links, path: console.path }),
  },
  {
    provide: ConsoleHandler,
    inject: [
      RESOLVED_OPTIONS,
      ConsoleLinks,
      DeliveriesService,
      DestinationsService,
      AnalyticsHealthIndicator,
      AnalyticsClient,
    ],
    useFactory: createHandler,
  },
  {
    provide: MOUNT,
    inject: [HttpAdapterHost, ConsoleHandler],
    useFactory: (host: HttpAdapterHost, handler: ConsoleHandler | undefined) =>
      handler === undefined ? undefined : new HttpMount(host, handler, new Logger('Analytics')),
  },
];

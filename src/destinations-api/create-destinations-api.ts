import { Logger } from '@nestjs/common';
import type { DeliveriesService } from '../deliveries/deliveries.service.js';
import type { DestinationsService } from '../destinations/destinations.service.js';
import type { ResolvedDestinationsApi } from '../options/resolve-destinations-api.js';
import { LimitedLog } from '../queue/limited-log.js';
import { AuditLog } from './audit-log.js';
import { Authorizer } from './authorizer.js';
import { DestinationsApi } from './destinations-api.js';
import { DestinationsApiHandler } from './destinations-api.handler.js';
import type { ConsoleLinks } from './links/console-links.js';
import { Operations } from './operations.js';

interface DestinationsApiParts {
  destinations: DestinationsService;
  deliveries: DeliveriesService;
  links: ConsoleLinks | undefined;
}

export function createDestinationsApi(
  { path, authorize, isForConsole }: ResolvedDestinationsApi,
  { destinations, deliveries, links }: DestinationsApiParts,
): DestinationsApiHandler {
  const logger = new Logger('Analytics');
  const log = new LimitedLog(logger, () => performance.now());
  const authorizer = new Authorizer(authorize, 'destinations.api.authorize', log, links);
  const operations = new Operations(destinations, deliveries, path);
  const api = new DestinationsApi({ authorizer, operations, audit: new AuditLog(logger), isForConsole });
  return new DestinationsApiHandler(api, path, logger);
}

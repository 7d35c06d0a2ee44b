import { Logger, type Provider } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { DeliveriesService } from '../deliveries/deliveries.service.js';
import { DestinationsService } from '../destinations/destinations.service.js';
import { HttpMount } from '../http/http-mount.js';
import { RESOLVED_OPTIONS } from '../options/options.tokens.js';
import type { ResolvedOptions } from '../options/resolved-options.js';
import { QUEUE_BACKEND, type QueueBackend } from '../queue/queue-backend.js';
import { LimitedLog } from '../queue/limited-log.js';
import { AuditLog } from './audit-log.js';
import { Authorizer } from './authorizer.js';
import { DestinationsApi } from './destinations-api.js';
import { DestinationsApiHandler } from './destinations-api.handler.js';
import { ConsoleLinks } from './links/console-links.js';
import { LinkSigner } from './links/link-signer.js';
import { createRevocationStore } from './links/revocation-store.js';
import { Operations } from './operations.js';

const MOUNT = Symbol('nestjs-analytics:destinations-api-mount');

function createHandler(
  { destinations }: ResolvedOptions,
  service: DestinationsService,
  deliveries: DeliveriesService,
  links: ConsoleLinks | undefined,
): DestinationsApiHandler | undefined {
  if (destinations?.api === undefined) return undefined;
  const { path, authorize, isForConsole } = destinations.api;
  const logger = new Logger('Analytics');
  const authorizer = new Authorizer(
    authorize,
    'destinations.api.authorize',
    new LimitedLog(logger, () => performance.now()),
    links,
  );
  const operations = new Operations(service, deliveries, path);
  const api = new DestinationsApi({ authorizer, operations, audit: new AuditLog(logger), isForConsole });
  return new DestinationsApiHandler(api, path, logger);
}

/** The HTTP API of the destinations at run time. */
export const DESTINATIONS_API_PROVIDERS: Provider[] = [
  {
    provide: ConsoleLinks,
    inject: [RESOLVED_OPTIONS, QUEUE_BACKEND],
    useFactory: ({ console, destinations }: ResolvedOptions, { storage }: QueueBackend) =>
      console &&
      new ConsoleLinks(new LinkSigner(destinations?.encryptionKeys ?? []), createRevocationStore(storage)),
  },
  {
    provide: DestinationsApiHandler,
    inject: [RESOLVED_OPTIONS, DestinationsService, DeliveriesService, ConsoleLinks],
    useFactory: createHandler,
  },
  {
    provide: MOUNT,
    inject: [HttpAdapterHost, DestinationsApiHandler],
    useFactory: (host: HttpAdapterHost, handler: DestinationsApiHandler | undefined) =>
      handler === undefined ? undefined : new HttpMount(host, handler, new Logger('Analytics')),
  },
];

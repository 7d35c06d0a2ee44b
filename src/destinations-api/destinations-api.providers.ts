import type { Provider } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { DeliveriesService } from '../deliveries/deliveries.service.js';
import { DestinationsService } from '../stored-destinations/destinations.service.js';
import type { HttpHandler } from '../http/http-handler.js';
import { mountHandler } from '../http/mount-handler.js';
import { RESOLVED_OPTIONS } from '../options/options.tokens.js';
import type { ResolvedOptions } from '../options/resolved-options.js';
import { QUEUE_BACKEND, type QueueBackend } from '../queue/queue-backend.js';
import type { ConsoleLinks } from './links/console-links.js';

/** Injection token of the `ConsoleLinks`; `undefined` in an application without the console. */
export const CONSOLE_LINKS = Symbol('nestjs-analytics:console-links');

const HANDLER = Symbol('nestjs-analytics:destinations-api');
const MOUNT = Symbol('nestjs-analytics:destinations-api-mount');

// An application without this API loads none of its code.
async function createHandler(
  { destinations, shutdownTimeout }: ResolvedOptions,
  service: DestinationsService,
  deliveries: DeliveriesService,
  links: ConsoleLinks | undefined,
): Promise<HttpHandler | undefined> {
  if (destinations?.api === undefined) return undefined;
  const { createDestinationsApi } = await import('./destinations-api.handler.js');
  const services = { destinations: service, deliveries, links };
  const { api, limitPerTenant } = destinations;
  return createDestinationsApi(api, services, { limitPerTenant, shutdownTimeout });
}

async function createLinks(
  { console, destinations, prefix }: ResolvedOptions,
  { storage }: QueueBackend,
): Promise<ConsoleLinks | undefined> {
  if (console === undefined) return undefined;
  const [{ ConsoleLinks }, { LinkSigner }, { createRevocationStore }] = await Promise.all([
    import('./links/console-links.js'),
    import('./links/link-signer.js'),
    import('./links/revocation-store.js'),
  ]);
  const signer = new LinkSigner(destinations?.encryptionKeys ?? [], prefix);
  return new ConsoleLinks(signer, createRevocationStore(storage));
}

/** Providers of the HTTP API of the destinations at run time. */
export const DESTINATIONS_API_PROVIDERS: Provider[] = [
  { provide: CONSOLE_LINKS, inject: [RESOLVED_OPTIONS, QUEUE_BACKEND], useFactory: createLinks },
  {
    provide: HANDLER,
    inject: [RESOLVED_OPTIONS, DestinationsService, DeliveriesService, CONSOLE_LINKS],
    useFactory: createHandler,
  },
  { provide: MOUNT, inject: [HttpAdapterHost, HANDLER], useFactory: mountHandler },
];

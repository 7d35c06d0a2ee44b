import type { ResolvedOptions } from '../options/resolved-options.js';
import { DestinationRegistry } from './destination-registry.js';
import { TrackingApiDestination } from './tracking-api/tracking-api-destination.js';
import type { WebhookClients } from './webhooks/webhook-clients.js';
import { WebhooksDestination } from './webhooks/webhooks-destination.js';

/** The destinations that the options name: webhooks, or another program's API that knows them in their place. */
export function createDestinations(
  { webhooks, sources, forwarding }: ResolvedOptions,
  clients: WebhookClients,
): DestinationRegistry {
  if (forwarding !== undefined) {
    // Where to is this application's own choice, not a customer's.
    const client = clients.for({ allowPrivateNetwork: true });
    return new DestinationRegistry(
      sources.map((source) => new TrackingApiDestination(source, forwarding, client)),
    );
  }
  return new DestinationRegistry(
    webhooks.map((options) => new WebhooksDestination(options, clients.for(options))),
  );
}

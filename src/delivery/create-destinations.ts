import { CallMemory } from '../custom-destinations/call-memory.js';
import { CodeDestination } from '../custom-destinations/code-destination.js';
import type { CustomDestinations } from '../custom-destinations/custom-destinations.js';
import { type DestinationLookup, DestinationRegistry } from '../destinations/destination-registry.js';
import { EndpointDestination } from '../forwarding/endpoint-destination.js';
import type { ResolvedOptions } from '../options/resolved-options.js';
import type { EndpointObserver } from '../webhooks/endpoint-state.js';
import type { WebhookClients } from '../webhooks/http/webhook-clients.js';
import { WebhooksDestination } from '../webhooks/webhooks-destination.js';

/**
 * Creates the configured destinations: webhooks and the application's own code, or instead of them another
 * application's tracking API.
 */
export function createDestinations(
  { webhooks, sources, forwarding }: ResolvedOptions,
  clients: WebhookClients,
  endpoints: EndpointObserver,
  atRunTime: DestinationLookup | undefined,
  custom: CustomDestinations,
): DestinationRegistry {
  if (forwarding !== undefined) {
    // The endpoint is the application's own choice, not a customer's.
    const client = clients.for({ allowPrivateNetwork: true });
    return new DestinationRegistry(
      sources.map((source) => new EndpointDestination(source, forwarding, client, endpoints)),
    );
  }
  const registry = new DestinationRegistry(
    webhooks.map((options) => new WebhooksDestination(options, clients.for(options), endpoints)),
    atRunTime,
  );
  const memory = new CallMemory();
  custom.whenKnown((all) => {
    for (const options of all) registry.add(new CodeDestination(options, memory, endpoints));
  });
  return registry;
}

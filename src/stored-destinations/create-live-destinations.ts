import type { EndpointEvent } from '../deliveries/delivery-events.js';
import type { DestinationLines } from '../deliveries/destination-lines.js';
import type { EventChannel } from '../deliveries/event-channel.js';
import type { ResolvedDestinations } from '../options/resolve-destinations.js';
import type { EndpointObserver } from '../webhooks/endpoint-state.js';
import type { WebhookClients } from '../webhooks/http/webhook-clients.js';
import { createDeadDestinations } from './create-dead-destinations.js';
import { LiveDestinations } from './live-destinations.js';
import type { DestinationParts } from './open-destinations.js';

/**
 * @param endpoints gets an event when a destination is disabled, or soon will be
 * @param lines gets a log line at the same time
 */
export function createLiveDestinations(
  { allowPrivateNetwork, disableAfter }: ResolvedDestinations,
  parts: DestinationParts,
  clients: WebhookClients,
  observer: EndpointObserver,
  endpoints: EventChannel<EndpointEvent>,
  lines: DestinationLines,
): LiveDestinations {
  const dead = createDeadDestinations(parts.records, disableAfter, endpoints, lines);
  return new LiveDestinations({
    ...parts,
    client: clients.for({ allowPrivateNetwork }),
    allowPrivateNetwork,
    observer,
    onAttempt: (record, attempt) => {
      // A read-only store belongs to the application, which also decides what is disabled there.
      if (parts.isWritable) dead.attempted(record, attempt);
    },
  });
}

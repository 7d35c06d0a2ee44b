import { Logger } from '@nestjs/common';
import type { EndpointEvent } from '../deliveries/delivery-events.js';
import type { EventChannel } from '../deliveries/event-channel.js';
import { DestinationNotFoundError } from '../errors/delivery.errors.js';
import { thrownAt } from '../errors/thrown-at.js';
import type { ResolvedDestinations } from '../options/resolve-destinations.js';
import type { EndpointObserver } from '../webhooks/endpoint-state.js';
import type { WebhookClients } from '../webhooks/http/webhook-clients.js';
import { DeadDestinations } from './dead-destinations.js';
import { LiveDestinations } from './live-destinations.js';
import type { DestinationParts } from './open-destinations.js';

/** @param endpoints gets an event when a destination is disabled, or will be */
export function createLiveDestinations(
  { allowPrivateNetwork, disableAfter }: ResolvedDestinations,
  parts: DestinationParts,
  clients: WebhookClients,
  observer: EndpointObserver,
  endpoints: EventChannel<EndpointEvent>,
): LiveDestinations {
  const dead = createDead(parts, disableAfter, endpoints);
  return new LiveDestinations({
    ...parts,
    client: clients.for({ allowPrivateNetwork }),
    allowPrivateNetwork,
    observer,
    onAttempt: (record, attempt) => {
      // A store that is only read belongs to the application, and so does what is disabled there.
      if (parts.isWritable) dead.attempted(record, attempt);
    },
  });
}

function createDead(
  { records }: DestinationParts,
  disableAfter: number,
  endpoints: EventChannel<EndpointEvent>,
): DeadDestinations {
  const logger = new Logger('Analytics');
  return new DeadDestinations({
    disableAfter,
    record: (id, failingSince) => records.change(id, {}, () => ({ failingSince })),
    disable: (id, reason) =>
      records.change(id, {}, () => ({ enabled: false, disabledReason: reason, failingSince: undefined })),
    tell: (event) => {
      const { type, destination, reason } = event;
      const what = type === 'disabled' ? 'was disabled' : 'will be disabled in a day';
      logger.warn(`The destination "${destination}" ${what}: ${reason}. Its messages are kept when it is.`);
      endpoints.emit(event);
    },
    onFailed: (id, error) => {
      // It was deleted meanwhile.
      if (error instanceof DestinationNotFoundError) return;
      logger.warn(`The state of the destination "${id}" could not be stored: ${thrownAt(error)}.`);
    },
  });
}

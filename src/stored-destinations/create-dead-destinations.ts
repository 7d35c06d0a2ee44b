import type { DeadDestinationEvent, EndpointEvent } from '../deliveries/delivery-events.js';
import type { DestinationLines } from '../deliveries/destination-lines.js';
import type { EventChannel } from '../deliveries/event-channel.js';
import { DestinationNotFoundError } from '../errors/delivery.errors.js';
import { DestinationChangedError } from '../errors/destination.errors.js';
import { thrownAt } from '../shared/thrown-at.js';
import { type DeadFinding, DeadDestinations } from './dead-destinations.js';
import { type DestinationRecords, urlHashes } from './destination-records.js';

/**
 * @param endpoints gets an event when a destination is disabled, or soon will be
 * @param lines gets a log line at the same time
 * @param now, maxFailing as in `DeadDestinations`
 */
export function createDeadDestinations(
  records: DestinationRecords,
  disableAfter: number,
  endpoints: Pick<EventChannel<EndpointEvent>, 'emit'>,
  lines: DestinationLines,
  now?: () => number,
  maxFailing?: number,
): DeadDestinations {
  const parts = {
    disableAfter,
    // The time of the first process that notices counts.
    recordFailing: (id: string, since: number) =>
      records.note(id, ({ failingSince = since }) => ({ failingSince })),
    recordRecovered: (id: string) => records.note(id, () => ({ failingSince: undefined })),
    disable: async (id: string, { reason, urls, failingSince }: DeadFinding) => {
      const record = await records.find(id, undefined);
      const isAlive = failingSince !== undefined && record.failingSince !== failingSince;
      // The owner may have added a URL that this process, or the failed request, did not know.
      const isElsewhere = urlHashes(record).some((url) => !urls.has(url));
      if (record.enabled === false || isAlive || isElsewhere) return false;
      const changes = { enabled: false, disabledReason: reason, failingSince: undefined };
      // `latest` refuses this if another process notes at the same moment that it has delivered a message.
      await records.change(id, { latest: record.version ?? 0 }, () => changes);
      return true;
    },
    tell: (event: DeadDestinationEvent) => {
      const { type, destination, reason } = event;
      const [what, waiting] =
        type === 'disabled'
          ? ['was disabled', 'Waiting messages are kept, and delivered once it is enabled.']
          : ['will be disabled soon', 'Messages that wait at that time are kept.'];
      lines.writeEach('warn', type, `The destination "${destination}" ${what}: ${reason}. ${waiting}`);
      endpoints.emit(event);
    },
    onFailed: (id: string, error: unknown) => {
      // The destination was deleted or changed meanwhile. The next failure is judged by its new state.
      if (error instanceof DestinationNotFoundError || error instanceof DestinationChangedError) return;
      const line = `The state of the destination "${id}" could not be stored: ${thrownAt(error)}.`;
      lines.writeEach('warn', 'not stored', line);
    },
  };
  return new DeadDestinations(parts, now, maxFailing);
}

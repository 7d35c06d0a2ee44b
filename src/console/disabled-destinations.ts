import { TimeSlice } from '../shared/time-slice.js';
import type { DestinationsService } from '../stored-destinations/destinations.service.js';
import type { DestinationDetails } from '../stored-destinations/destinations.types.js';

/** Maximum number of destinations that are searched. If the store itself filters, all of them are disabled. */
const MAX_DESTINATIONS = 1_000;
/** Number of destinations that are read at a time. Each is parsed and decrypted on this thread. */
const PAGE_SIZE = 100;
/** Maximum number of disabled destinations that are shown. */
const MAX_SHOWN = 100;

/** What is shown of a disabled destination. All its fields may be 16 KB, too much for a request every few seconds. */
export interface DisabledDestination extends Pick<DestinationDetails, 'id' | 'enabled'> {
  name: string | undefined;
  /** Only the first URL. */
  urls: readonly string[];
  disabledReason: string | undefined;
}

/** Result of a search for disabled destinations. */
export interface DisabledDestinations {
  shown: DisabledDestination[];
  /** Number of disabled destinations found beyond these; `undefined` for none. */
  more: number | undefined;
  /** Number of destinations that were searched; `undefined` if the search was complete. */
  lookedAt: number | undefined;
}

/** @throws DestinationsReadOnlyError if the application's own store cannot list destinations */
export async function disabledDestinations(
  destinations: Pick<DestinationsService, 'list'>,
): Promise<DisabledDestinations> {
  const slice = new TimeSlice();
  const shown: DisabledDestination[] = [];
  let found = 0;
  let cursor: string | undefined;
  for (let read = 0; read < MAX_DESTINATIONS; read += PAGE_SIZE) {
    const page = await destinations.list({ enabled: false, cursor, limit: PAGE_SIZE });
    found += page.destinations.length;
    shown.push(...page.destinations.slice(0, MAX_SHOWN - shown.length).map(shownOf));
    ({ cursor } = page);
    if (cursor === undefined) return { shown, more: moreThan(shown, found), lookedAt: undefined };
    await slice.check();
  }
  return { shown, more: moreThan(shown, found), lookedAt: MAX_DESTINATIONS };
}

function moreThan({ length }: readonly unknown[], found: number): number | undefined {
  return found > length ? found - length : undefined;
}

function shownOf({ id, name, urls, enabled, disabledReason }: DestinationDetails): DisabledDestination {
  return { id, name, urls: urls.slice(0, 1), enabled, disabledReason };
}

import { TimeSlice } from '../shared/time-slice.js';
import type { DestinationsService } from '../stored-destinations/destinations.service.js';
import type { DestinationDetails } from '../stored-destinations/destinations.types.js';

/** Destinations that are looked at: only disabled ones, where the store finds these itself. */
const MAX_DESTINATIONS = 1_000;
/** Those of them that are read at a time: each is parsed and decrypted on this thread. */
const PAGE_SIZE = 100;
/** Those that are shown. */
const MAX_SHOWN = 100;

/** What is shown of a disabled destination. All of its fields may be 16 KB, and are asked for every few seconds. */
export interface DisabledDestination extends Pick<DestinationDetails, 'id' | 'enabled'> {
  name: string | undefined;
  /** The first one. */
  urls: readonly string[];
  disabledReason: string | undefined;
}

/** What a look at the destinations has found. */
export interface DisabledDestinations {
  shown: DisabledDestination[];
  /** How many more were found; `undefined` for none. */
  more: number | undefined;
  /** How many destinations were looked at, unless these are all that are disabled. */
  lookedAt: number | undefined;
}

/** @throws DestinationsReadOnlyError where the application's own store lists none */
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

import { AnalyticsError } from '../errors/analytics.error.js';
import { withCode } from '../errors/with-code.js';
import { thrownAt } from '../shared/thrown-at.js';
import { isWritable } from '../options/destination-store.js';
import type { ResolvedDestinations } from '../options/resolve-destinations.js';
import type { QueueStorage } from '../queue/queue-backend.js';
import { failureOf } from '../queue/queue-failure.js';
import { ChangeNotices } from './change-notices.js';
import { DestinationDirectory } from './destination-directory.js';
import { DestinationRecords } from './destination-records.js';
import { SecretBox } from './secret-box.js';
import { createDestinationStore } from './stores/create-destination-store.js';
import { TimedStore } from './timed-store.js';
import { WritableDestinations } from './writable-destinations.js';
import { AnalyticsLogger } from '../shared/analytics-logger.js';

/** The parts that keep and find destinations at run time. */
export interface DestinationParts {
  records: DestinationRecords;
  directory: DestinationDirectory;
  notices: ChangeNotices;
  box: SecretBox;
  /** Whether this module can change destinations in the store. */
  isWritable: boolean;
}

export async function openDestinations(
  { store, encryptionKeys }: ResolvedDestinations,
  storage: QueueStorage,
): Promise<DestinationParts> {
  const logger = new AnalyticsLogger();
  const beside = await createDestinationStore(storage);
  // A look-up in the queue's own database always ends, since its connections are watched.
  const reads = store === undefined ? beside : new TimedStore(store);
  const directory = new DestinationDirectory({
    store: reads,
    feed: beside,
    mayHang: store !== undefined,
    mostLookups: store === undefined ? beside.mostLookups : undefined,
    onAway: (error) => {
      logger.warn(
        `Destinations cannot be looked up, and messages wait in memory until they can${reasonOf(error)}`,
      );
    },
    onBack: () => {
      logger.log('Destinations can be looked up again.');
    },
  });
  const box = new SecretBox(encryptionKeys);
  const isOwn = store !== undefined;
  const notices = new ChangeNotices({
    directory,
    feed: isOwn ? beside : undefined,
    onLost: (count) => {
      const changes = count === 1 ? 'a change' : `${count} changes`;
      logger.warn(
        `The queue's database is unavailable, so the other processes were not told of ${changes} of destinations. ` +
          'Call `DestinationsService.changed` for their tenants once it is back.',
      );
    },
  });
  const given = store ?? beside;
  const writable = new WritableDestinations({ store: given, isOwn, notices });
  // The application's own store has connections of its own.
  const turns = store === undefined ? beside.turns : undefined;
  const records = new DestinationRecords({ store: reads, writable, box, turns });
  return { records, directory, notices, box, isWritable: isWritable(given) };
}

/** Returns the end of the log line that says that destinations cannot be looked up. */
function reasonOf(error: unknown): string {
  if (error instanceof AnalyticsError) return `: ${withCode(error)}`;
  // A table that is missing, or may not be used, has been logged already.
  return failureOf(error)?.kind === 'partial' ? '.' : `: ${thrownAt(error)}.`;
}

import { Logger } from '@nestjs/common';
import { AnalyticsError } from '../errors/analytics.error.js';
import { thrownAt } from '../errors/thrown-at.js';
import type { ResolvedDestinations } from '../options/resolve-destinations.js';
import type { QueueStorage } from '../queue/queue-backend.js';
import { DestinationDirectory } from './destination-directory.js';
import { DestinationRecords, type DestinationRecordsParts } from './destination-records.js';
import { SecretBox } from './secret-box.js';
import { createDestinationStore } from './stores/create-destination-store.js';
import { TimedStore } from './timed-store.js';

/** Where destinations at run time are kept. */
export interface DestinationParts extends DestinationRecordsParts {
  records: DestinationRecords;
}

export async function openDestinations(
  { store, encryptionKeys }: ResolvedDestinations,
  storage: QueueStorage,
): Promise<DestinationParts> {
  const logger = new Logger('Analytics');
  const beside = await createDestinationStore(storage);
  // A look-up in the queue's own database always ends, since its connections are watched.
  const reads = store === undefined ? beside : new TimedStore(store);
  const directory = new DestinationDirectory({
    store: reads,
    feed: beside,
    onAway: (error) => {
      const reason = error instanceof AnalyticsError ? error.message : `${thrownAt(error)}.`;
      logger.warn(`Destinations cannot be looked up, and messages wait in memory until they can: ${reason}`);
    },
    onBack: () => {
      logger.log('Destinations can be looked up again.');
    },
  });
  const box = new SecretBox(encryptionKeys);
  const parts = { store: store ?? beside, reads, feed: beside, directory, box };
  return { ...parts, records: new DestinationRecords(parts) };
}

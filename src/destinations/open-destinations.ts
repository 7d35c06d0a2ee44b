import { Logger } from '@nestjs/common';
import { thrownAt } from '../errors/thrown-at.js';
import type { ResolvedDestinations } from '../options/resolve-destinations.js';
import type { QueueStorage } from '../queue/queue-backend.js';
import { DestinationDirectory } from './destination-directory.js';
import { DestinationRecords, type DestinationRecordsParts } from './destination-records.js';
import { SecretBox } from './secret-box.js';
import { createDestinationStore } from './stores/create-destination-store.js';

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
  const directory = new DestinationDirectory({
    store: store ?? beside,
    feed: beside,
    onAway: (error) => {
      logger.warn(
        `Destinations cannot be looked up: ${thrownAt(error)}. Messages wait in memory until they can.`,
      );
    },
    onBack: () => {
      logger.log('Destinations can be looked up again.');
    },
  });
  const parts = { store: store ?? beside, feed: beside, directory, box: new SecretBox(encryptionKeys) };
  return { ...parts, records: new DestinationRecords(parts) };
}

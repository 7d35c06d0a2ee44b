import { DestinationNotFoundError } from '../errors/delivery.errors.js';
import {
  DestinationChangedError,
  DestinationKeyError,
  DestinationLimitError,
} from '../errors/destination.errors.js';
import type {
  DestinationPageQuery,
  DestinationRecord,
  DestinationSecrets,
  DestinationStore,
  StoredDestination,
} from '../options/destination-store.js';
import { detailsOf } from './destination-details.js';
import type { DestinationDetails } from './destinations.types.js';
import type { SecretBox } from './secret-box.js';
import type { WritableDestinations } from './writable-destinations.js';

/** A change without a version is made to whatever the latest version is, after this many others at most. */
const MAX_TRIES = 20;

export interface DestinationRecordsParts {
  store: Pick<DestinationStore, 'findById'>;
  /** The same, to list and change them. */
  writable: WritableDestinations;
  box: SecretBox;
}

/** Reads and changes destinations, and keeps their secrets encrypted in the store. */
export class DestinationRecords {
  constructor(private readonly parts: DestinationRecordsParts) {}

  /** @throws DestinationNotFoundError, also for a destination of another tenant */
  async find(id: string, tenant: string | undefined): Promise<DestinationRecord> {
    const found = await this.parts.store.findById(id);
    if (found === undefined || found === 'deleted' || (tenant !== undefined && found.tenant !== tenant)) {
      throw new DestinationNotFoundError(id);
    }
    return found;
  }

  /** @throws DestinationKeyError */
  secretsOf(record: DestinationRecord): DestinationSecrets {
    return this.parts.box.open(record);
  }

  /** What callers may see of a destination. */
  detailsOf(record: DestinationRecord): DestinationDetails {
    try {
      return detailsOf(record, this.secretsOf(record));
    } catch (error) {
      // The rest can still be shown, and the destination can be disabled or deleted.
      if (error instanceof DestinationKeyError) return detailsOf(record, undefined);
      throw error;
    }
  }

  /** @throws DestinationsReadOnlyError, DestinationStoreTimeoutError */
  async list(query: DestinationPageQuery): Promise<readonly StoredDestination[]> {
    return this.parts.writable.list(query);
  }

  /** @throws DestinationLimitError, DestinationsReadOnlyError, DestinationWriteTimeoutError */
  async add(record: StoredDestination, limit: number): Promise<void> {
    const { writable, box } = this.parts;
    if (!(await writable.insert(box.seal(record), limit))) throw new DestinationLimitError(limit);
  }

  /**
   * Changes the latest version of a destination.
   *
   * @param edit returns the fields to change
   * @param version the only version that may be changed. @default any
   * @throws DestinationChangedError, DestinationNotFoundError, DestinationsReadOnlyError,
   *   DestinationWriteTimeoutError
   */
  async change(
    id: string,
    { tenant, version }: { tenant?: string | undefined; version?: number | undefined },
    edit: (record: DestinationRecord) => Partial<DestinationRecord>,
  ): Promise<StoredDestination> {
    const { writable } = this.parts;
    writable.assertWritable();
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const record = await this.find(id, tenant);
      const { version: current = 0, createdAt = 0 } = record;
      if (version !== undefined && version !== current) break;
      const changed = { ...record, ...edit(record) };
      const next = { ...changed, createdAt, updatedAt: Date.now(), version: current + 1 };
      if (await writable.replace(next)) return next;
    }
    throw new DestinationChangedError(id);
  }

  /** New secrets for a record, as they are stored. */
  sealed(record: DestinationRecord, secrets: DestinationSecrets): Partial<DestinationRecord> {
    const none = { headers: undefined, sharedSecret: undefined, standardWebhooks: undefined };
    const all = { ...record, sealed: undefined, ...none, retiring: undefined, ...secrets };
    const { headers, sharedSecret, standardWebhooks, retiring, sealed } = this.parts.box.seal(all);
    return { headers, sharedSecret, standardWebhooks, retiring, sealed };
  }

  /** @throws DestinationNotFoundError, DestinationsReadOnlyError, DestinationWriteTimeoutError */
  async remove(id: string, tenant: string | undefined): Promise<DestinationRecord> {
    const { writable } = this.parts;
    writable.assertWritable();
    const record = await this.find(id, tenant);
    if (!(await writable.remove(record))) throw new DestinationNotFoundError(id);
    return record;
  }
}

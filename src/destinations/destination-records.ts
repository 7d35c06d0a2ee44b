import { DestinationNotFoundError } from '../errors/delivery.errors.js';
import {
  DestinationChangedError,
  DestinationKeyError,
  DestinationLimitError,
  DestinationsReadOnlyError,
} from '../errors/destination.errors.js';
import {
  type DestinationPageQuery,
  type DestinationRecord,
  type DestinationSecrets,
  type DestinationStore,
  isWritable,
  type StoredDestination,
  type WritableDestinationStore,
} from '../options/destination-store.js';
import { detailsOf } from './destination-details.js';
import type { DestinationDirectory } from './destination-directory.js';
import type { DestinationChange, DestinationFeed } from './destination-feed.js';
import type { DestinationDetails } from './destinations.types.js';
import type { SecretBox } from './secret-box.js';

/** A change without a version is made to whatever the latest version is, after this many others at most. */
const MAX_TRIES = 20;

export interface DestinationRecordsParts {
  store: DestinationStore;
  /** The same, to read one destination. */
  reads: Pick<DestinationStore, 'findById'>;
  feed: DestinationFeed;
  directory: DestinationDirectory;
  box: SecretBox;
}

/** Reads and writes destinations, tells of each change, and keeps their secrets encrypted in the store. */
export class DestinationRecords {
  constructor(private readonly parts: DestinationRecordsParts) {}

  /** @throws DestinationNotFoundError, also for a destination of another tenant */
  async find(id: string, tenant: string | undefined): Promise<DestinationRecord> {
    const found = await this.parts.reads.findById(id);
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

  /** @throws DestinationsReadOnlyError */
  async list(query: DestinationPageQuery): Promise<readonly StoredDestination[]> {
    return this.writable.list(query);
  }

  /** @throws DestinationLimitError, DestinationsReadOnlyError */
  async add(record: StoredDestination, limit: number): Promise<void> {
    if (!(await this.writable.insert(this.parts.box.seal(record), limit))) {
      throw new DestinationLimitError(limit);
    }
    await this.tell(record);
  }

  /**
   * Changes the latest version of a destination.
   *
   * @param edit returns the fields to change
   * @param version the only version that may be changed. @default any
   * @throws DestinationChangedError, DestinationNotFoundError, DestinationsReadOnlyError
   */
  async change(
    id: string,
    { tenant, version }: { tenant?: string | undefined; version?: number | undefined },
    edit: (record: DestinationRecord) => Partial<DestinationRecord>,
  ): Promise<StoredDestination> {
    const store = this.writable;
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const record = await this.find(id, tenant);
      const { version: current = 0, createdAt = 0 } = record;
      if (version !== undefined && version !== current) break;
      const changed = { ...record, ...edit(record) };
      const next = { ...changed, createdAt, updatedAt: Date.now(), version: current + 1 };
      if (!(await store.replace(next))) continue;
      await this.tell(next);
      return next;
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

  /** @throws DestinationNotFoundError, DestinationsReadOnlyError */
  async remove(id: string, tenant: string | undefined): Promise<DestinationRecord> {
    const store = this.writable;
    const record = await this.find(id, tenant);
    if (!(await store.remove(id))) throw new DestinationNotFoundError(id);
    await this.tell(record);
    return record;
  }

  /** Makes a change known to this process, and to the others unless the store has told them. */
  async tell({ tenant, id }: { tenant?: string | undefined; id?: string | undefined }): Promise<void> {
    const { store, feed, directory } = this.parts;
    const change: DestinationChange = { tenant, id };
    directory.forget(change);
    if (!Object.is(store, feed)) await feed.publish(change);
  }

  private get writable(): WritableDestinationStore {
    const { store } = this.parts;
    if (!isWritable(store)) throw new DestinationsReadOnlyError();
    return store;
  }
}

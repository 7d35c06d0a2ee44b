import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
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
import { isTenantName } from '../options/tenant-name.js';
import { hashUrl } from '../options/webhook-url.js';
import type { ConnectionTurns } from '../queue/postgres/connection-turns.js';
import { detailsOf } from './destination-details.js';
import type { DestinationDetails } from './destinations.types.js';
import type { SecretBox } from './secret-box.js';
import type { WritableDestinations } from './writable-destinations.js';

/** Maximum number of tries of a change. Each try is for the latest version, and may lose to another change. */
const MAX_TRIES = 20;

/** The longest pause before another try, in milliseconds. */
const LONGEST_PAUSE = 128;

export interface DestinationRecordsParts {
  store: Pick<DestinationStore, 'findById'>;
  /** The same store, for listing and changing. */
  writable: WritableDestinations;
  box: SecretBox;
  /** Turns of all calls, by tenant, for a store that shares its connections with the queue. @default no limit */
  turns?: Pick<ConnectionTurns, 'run'> | undefined;
}

/** Whose destination may be changed, and which version of it. */
export interface ChangeTerms {
  /** @default anybody's */
  tenant?: string | undefined;
  /** Refuses the change if the destination was changed since this version. @default any version may be changed */
  version?: number | undefined;
  /** As `version`, but also refuses the change if something was noted since then. */
  latest?: number | undefined;
}

/** Reads and changes destinations, and keeps their secrets encrypted in the store. */
export class DestinationRecords {
  constructor(private readonly parts: DestinationRecordsParts) {}

  /** @throws DestinationNotFoundError, also for a destination of another tenant */
  async find(id: string, tenant: string | undefined): Promise<DestinationRecord> {
    const found = await this.inTurn(tenant, () => this.parts.store.findById(id));
    if (found === undefined || found === 'deleted' || (tenant !== undefined && found.tenant !== tenant)) {
      throw new DestinationNotFoundError(id);
    }
    return found;
  }

  /** @throws DestinationKeyError */
  secretsOf(record: DestinationRecord): DestinationSecrets {
    return this.parts.box.open(record);
  }

  /** Returns what callers may see of a destination. */
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
    const { tenant } = query;
    // A store may keep the destinations without a tenant under a text that cannot be a tenant's name.
    if (tenant !== undefined && !isTenantName(tenant)) return [];
    return this.inTurn(tenant, () => this.parts.writable.list(query));
  }

  /** @throws DestinationLimitError, DestinationsReadOnlyError, DestinationWriteTimeoutError */
  async add(record: StoredDestination, limit: number): Promise<void> {
    const { writable, box } = this.parts;
    const isAdded = await this.inTurn(record.tenant, () => writable.insert(box.seal(record), limit));
    if (!isAdded) throw new DestinationLimitError(limit);
  }

  /**
   * Changes the latest version of a destination.
   *
   * @param edit returns the fields to change
   * @throws DestinationChangedError, DestinationNotFoundError, DestinationsReadOnlyError,
   *   DestinationWriteTimeoutError
   */
  async change(
    id: string,
    { tenant, version, latest }: ChangeTerms,
    edit: (record: DestinationRecord) => Partial<DestinationRecord>,
  ): Promise<StoredDestination> {
    return this.write(id, tenant, (record, current) => {
      const isStale = version !== undefined && (version < changedVersionOf(record) || version > current);
      if (isStale || (latest !== undefined && latest !== current)) return undefined;
      const changes = edit(record);
      return {
        ...changes,
        // No message has failed yet at the new URL.
        ...(isElsewhere(changes, record) && { failingSince: undefined }),
        updatedAt: Date.now(),
        noted: undefined,
      };
    });
  }

  /**
   * Like `change`, but for notes of this module about a destination. A note does not count as a change, and causes no
   * conflict with one.
   */
  async note(
    id: string,
    edit: (record: DestinationRecord) => Pick<DestinationRecord, 'failingSince'>,
  ): Promise<void> {
    await this.write(id, undefined, (record, current) => ({
      ...edit(record),
      noted: { since: changedVersionOf(record), version: current + 1 },
    }));
  }

  /** @param edit returns the fields to change, or `undefined` to refuse the change */
  private async write(
    id: string,
    tenant: string | undefined,
    edit: (record: DestinationRecord, version: number) => Partial<DestinationRecord> | undefined,
  ): Promise<StoredDestination> {
    const { writable } = this.parts;
    writable.assertWritable();
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      // Of many tries at the same moment only one succeeds, so each waits for a random time.
      if (tries > 0) await pause(Math.random() * Math.min(2 ** tries, LONGEST_PAUSE));
      const record = await this.find(id, tenant);
      const { version = 0, createdAt = 0, updatedAt = 0 } = record;
      const fields = edit(record, version);
      if (fields === undefined) throw new DestinationChangedError(id, true);
      const changedAt = fields.updatedAt ?? updatedAt;
      const next = { ...record, ...fields, createdAt, updatedAt: changedAt, version: version + 1 };
      if (await this.inTurn(tenant, () => writable.replace(next))) return next;
    }
    throw new DestinationChangedError(id, false);
  }

  /** Returns new secrets for a record as they are stored. */
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
    if (!(await this.inTurn(tenant, () => writable.remove(record)))) throw new DestinationNotFoundError(id);
    return record;
  }

  private inTurn<T>(tenant: string | undefined, call: () => Promise<T>): Promise<T> {
    return this.parts.turns?.run(tenant, call) ?? call();
  }
}

/** Returns the hashes of a destination's URLs, as in outcomes. Skips invalid URLs from an application's own store. */
export function urlHashes({ urls }: Pick<DestinationRecord, 'urls'>): string[] {
  return urls.filter((url) => URL.canParse(url)).map((url) => hashUrl(new URL(url)));
}

/** Whether a change gives a destination a URL that it did not have. */
function isElsewhere({ urls }: Partial<DestinationRecord>, record: DestinationRecord): boolean {
  if (urls === undefined) return false;
  const before = urlHashes(record);
  return urlHashes({ urls }).some((url) => !before.includes(url));
}

/** Returns the version of the latest change that is not a note. Other writers to the store do not update `noted`. */
export function changedVersionOf({ version = 0, noted }: DestinationRecord): number {
  return noted?.version === version ? noted.since : version;
}

/** Returns a new id. Destinations are listed by id, so ids sort by the time of their creation. */
export function newId(now: number): string {
  return `dst_${now.toString(36).padStart(9, '0')}${randomBytes(10).toString('hex')}`;
}

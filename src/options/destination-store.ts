import type { JsonObject, MessageType } from '../messages/message.types.js';

/** Secrets that authenticate the requests of a destination. They are in no job, no log and no list. */
export interface DestinationSecrets {
  /** At most 5 static headers, under the same rules as the `headers` of `webhooks`. */
  headers?: Record<string, string> | undefined;
  /** Signs every request with `X-Signature`. */
  sharedSecret?: string | undefined;
  /** Signs every request by Standard Webhooks. */
  standardWebhooks?: { secret: string | string[] } | undefined;
  /** Replaced Standard Webhooks secrets, which also sign until the given time, in milliseconds since the epoch. */
  retiring?: { secret: string; until: number }[] | undefined;
}

/**
 * A destination as a store holds it. Times are in milliseconds since the epoch. `DestinationsService` accepts at most
 * 16 KB for all fields together, as JSON.
 */
export interface DestinationRecord extends DestinationSecrets {
  /** Name of the destination in the queue, unique among all tenants and never reused. */
  id: string;
  /** Tenant whose messages the destination gets. @default the messages of all, with and without a tenant */
  tenant?: string | undefined;
  /** 1 to 5 absolute `http:` or `https:` URLs. */
  urls: string[];
  /** At most 200 characters. */
  name?: string | undefined;
  /** At most 2000 characters. */
  description?: string | undefined;
  /**
   * 1 to 100 names of `track` events, or prefixes with a trailing `*`, of at most 200 characters each. @default
   * all
   */
  events?: string[] | undefined;
  /** Types of calls, at least one. @default `['track']` with `events`, else all */
  types?: MessageType[] | undefined;
  /** Names of the connected sources, at least one. @default all */
  sources?: string[] | undefined;
  /** Milliseconds for the whole request, at most 60000. @default 5000 */
  timeout?: number | undefined;
  /** Milliseconds during which a message is retried, at most 7 days. @default 14400000 (4 hours) */
  retryWindow?: number | undefined;
  /** 300 to 599, or `'5xx'`. @default ['5xx', 408, 425, 429] */
  retryStatuses?: (number | '5xx')[] | undefined;
  /** Requests per second over all processes, accurate to 20 %. Each URL counts. @default no limit */
  rateLimit?: number | undefined;
  /** The application's own data about the destination, as JSON, at most 100 levels deep. */
  metadata?: JsonObject | undefined;
  /** @default true */
  enabled?: boolean | undefined;
  /** Why the destination was disabled. */
  disabledReason?: string | undefined;
  /** Time since which every message has failed for good, if this has lasted for a while. */
  failingSince?: number | undefined;
  createdAt?: number | undefined;
  updatedAt?: number | undefined;
  /** Grows by one with each write. */
  version?: number | undefined;
  /** Valid if `noted.version` is the record's `version`: since version `since`, only `failingSince` was written. */
  noted?: { since: number; version: number } | undefined;
  /** All `DestinationSecrets`, encrypted, in place of the plain fields. */
  sealed?: string | undefined;
}

/** A record that this module wrote. */
export type StoredDestination = DestinationRecord & { createdAt: number; updatedAt: number; version: number };

/**
 * Looks up destinations. These two methods are enough for an application that keeps destinations in its own tables
 * and calls `DestinationsService.changed(tenant)` after each change. A look-up must end within five seconds; otherwise
 * its messages wait for the next one. A look-up for messages serves many calls, so it has the `AsyncLocalStorage`
 * context of none of them.
 */
export interface DestinationStore {
  /**
   * Resolves to the destinations of a tenant, including disabled ones, or to an empty list for an unknown tenant.
   * Senders to the tracking API may name the tenant, so it can be any text. `undefined`: the destinations without a
   * tenant.
   */
  findByTenant(tenant: string | undefined): Promise<readonly DestinationRecord[]>;
  /**
   * Resolves to the destination with this id. `deleted`: messages that wait for it are dropped. `undefined`: the id is
   * unknown here, so its messages are left to other workers for `unknownJobTimeout` and then kept as failed. Users of
   * the API can ask for any text as an id: a text that cannot be an id of yours is unknown as well.
   */
  findById(id: string): Promise<DestinationRecord | 'deleted' | undefined>;
}

/** Selects a page of destinations, in the order of their ids. */
export interface DestinationPageQuery {
  /** @default all tenants, and destinations without one */
  tenant?: string | undefined;
  /** The id after which the page begins. */
  after?: string | undefined;
  /** `false` asks for disabled destinations only. A store that cannot find them quickly may ignore this field. */
  enabled?: false | undefined;
  limit: number;
}

/**
 * A store that `DestinationsService` can write to. Each call is atomic and must end within five seconds: callers do
 * not wait longer, and do not know then whether a write was made.
 */
export interface WritableDestinationStore extends DestinationStore {
  list(query: DestinationPageQuery): Promise<readonly StoredDestination[]>;
  /**
   * Adds a destination with a new id. Resolves to `false`, and adds nothing, if the tenant already has `limit`
   * destinations.
   */
  insert(destination: StoredDestination, limit: number): Promise<boolean>;
  /**
   * Replaces the whole destination: a field that is `undefined` or missing in the new record is no longer stored.
   * Resolves to `false`, and changes nothing, unless the new `version` is the stored `version` plus one. The tenant
   * never changes.
   */
  replace(destination: StoredDestination): Promise<boolean>;
  /** Deletes a destination. From then on `findById` resolves to `deleted` for at least 90 days. */
  remove(id: string): Promise<boolean>;
}

const READ_METHODS = ['findByTenant', 'findById'] as const satisfies (keyof DestinationStore)[];
const WRITE_METHODS = [
  'list',
  'insert',
  'replace',
  'remove',
] as const satisfies (keyof WritableDestinationStore)[];

/** The methods that every valid store has. */
export const DESTINATION_STORE_METHODS: readonly string[] = READ_METHODS;

/** Whether a store has all methods of a `WritableDestinationStore`. */
export function isWritable(store: DestinationStore): store is WritableDestinationStore {
  return WRITE_METHODS.every((method) => method in store);
}

import type { JsonObject, MessageType } from '../messages/message.types.js';

/** What authenticates the requests of a destination. It is in no job, no log and no list. */
export interface DestinationSecrets {
  /** At most 5 static headers, under the rules of those of `webhooks`. */
  headers?: Record<string, string> | undefined;
  /** Signs every request with `X-Signature`. */
  sharedSecret?: string | undefined;
  /** Signs every request by Standard Webhooks. */
  standardWebhooks?: { secret: string | string[] } | undefined;
  /** Secrets of Standard Webhooks that were replaced, and sign as well until then (ms since the epoch). */
  retiring?: { secret: string; until: number }[] | undefined;
}

/**
 * A destination as a store holds it. Times are in milliseconds since the epoch. `DestinationsService` takes fields of at
 * most 16 KB together, as JSON.
 */
export interface DestinationRecord extends DestinationSecrets {
  /** Names the destination in the queue; unique among all tenants, and never given again. */
  id: string;
  /** Whose messages it gets. @default the messages of all, with and without a tenant */
  tenant?: string | undefined;
  /** 1 to 5 absolute `http:` or `https:` URLs. */
  urls: string[];
  /** At most 200 characters. */
  name?: string | undefined;
  /** At most 2000 characters. */
  description?: string | undefined;
  /**
   * 1 to 100 names of `track` events, or their beginnings with a trailing `*`, of at most 200 characters each. @default
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
  /** Requests a second, over all processes, within 20 %. Each URL counts. @default no limit */
  rateLimit?: number | undefined;
  /** The application's own data about it, as JSON, at most 100 levels deep. */
  metadata?: JsonObject | undefined;
  /** @default true */
  enabled?: boolean | undefined;
  /** Why it was disabled. */
  disabledReason?: string | undefined;
  /** Since when every message has failed for good, if that is so for a while. */
  failingSince?: number | undefined;
  createdAt?: number | undefined;
  updatedAt?: number | undefined;
  /** Grows by one with each write. */
  version?: number | undefined;
  /** While this has the same `version`: since the version `since`, nothing but `failingSince` was written. */
  noted?: { since: number; version: number } | undefined;
  /** The secrets, encrypted, in place of those above. */
  sealed?: string | undefined;
}

/** A record that this module wrote. */
export type StoredDestination = DestinationRecord & { createdAt: number; updatedAt: number; version: number };

/**
 * Where destinations are looked up. These two methods are enough for an application that keeps them in tables
 * of its own: it calls `DestinationsService.changed(tenant)` after each change. A call has to end within five
 * seconds; messages that need a later answer wait for the next one. A look-up for messages serves many calls, so it has
 * the `AsyncLocalStorage` of none.
 */
export interface DestinationStore {
  /**
   * The destinations of a tenant, disabled ones included; an empty list for an unknown one. Whoever sends events to
   * the tracking API may name it, so it can be any text. `undefined`: those without a tenant.
   */
  findByTenant(tenant: string | undefined): Promise<readonly DestinationRecord[]>;
  /**
   * `deleted`: messages that wait for it are dropped. `undefined`: it is unknown here, so they are left to
   * other workers for `unknownJobTimeout` and then kept as failed. Whoever may use the API can ask for an id, so it can be
   * any text: one that yours cannot be is unknown as well.
   */
  findById(id: string): Promise<DestinationRecord | 'deleted' | undefined>;
}

/** Selects a page of destinations, in the order of their ids. */
export interface DestinationPageQuery {
  /** @default all tenants, and destinations without one */
  tenant?: string | undefined;
  /** The id after which the page begins. */
  after?: string | undefined;
  /**
   * Only disabled ones are wanted. A store that finds them quickly returns no others; one that does not may ignore it.
   */
  enabled?: false | undefined;
  limit: number;
}

/**
 * A store that `DestinationsService` can write to. Each call is atomic, and has to end within five seconds:
 * nobody waits longer for it, and whether a write without an answer was made is not known.
 */
export interface WritableDestinationStore extends DestinationStore {
  list(query: DestinationPageQuery): Promise<readonly StoredDestination[]>;
  /**
   * Adds a destination with a new id. Resolves to `false`, and adds nothing, if the tenant has this many
   * destinations already.
   */
  insert(destination: StoredDestination, limit: number): Promise<boolean>;
  /**
   * Replaces all of a destination: a field that is `undefined` in the new record, or not in it, is stored no more.
   * Resolves to `false`, and changes nothing, unless the stored `version` is the one before that of the new record. The
   * tenant never changes.
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

/** The methods that a store needs, to recognise a valid one. */
export const DESTINATION_STORE_METHODS: readonly string[] = READ_METHODS;

/** Whether a store has all methods of one that can be written to. */
export function isWritable(store: DestinationStore): store is WritableDestinationStore {
  return WRITE_METHODS.every((method) => method in store);
}

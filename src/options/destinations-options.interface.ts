import type { IncomingMessage } from 'node:http';
import type { AnalyticsMessage } from '../messages/message.types.js';
import type { DestinationStore } from './destination-store.js';

/** Destinations that are added, changed and removed while the application runs: your customers' webhooks. */
export interface DestinationsOptions {
  /**
   * Key that encrypts the secrets and header values of destinations in the store with AES-256-GCM: 32 random bytes
   * as base64 or hex (`openssl rand -base64 32`). Of several keys, the first encrypts and all decrypt. To change the
   * key, add the new key last, and put it first once all processes have it. `false` stores them as they are.
   * Required in production, unless the application's own `store` is read-only.
   *
   * @default stored as they are, with a warning
   */
  encryptionKey?: string | string[] | false | undefined;
  /**
   * Returns the tenant that a message belongs to, or `undefined` if it belongs to none. Synchronous; called for
   * messages whose tenant is named neither by `analytics.tenant(id)` nor by the `tenant` of their source. A result
   * other than a string or nothing is logged once and counts as no tenant.
   *
   * @default `context.groupId`; a call in which that is no string is refused
   */
  tenant?: ((message: AnalyticsMessage) => string | undefined) | undefined;
  /** Largest number of destinations per tenant. @default 20 */
  limitPerTenant?: number | undefined;
  /**
   * Largest number of messages that may wait in the queue for each of these destinations, and for each of
   * `customDestinations`. Further messages are refused and counted. @default 1,000,000
   */
  backlogLimit?: number | undefined;
  /**
   * Number of messages that failed for good and are kept for each of these destinations, and for each of
   * `customDestinations`. When there are about a twentieth more, the oldest are removed. @default 1,000,000
   */
  failedLimit?: number | undefined;
  /**
   * Milliseconds after which a destination is disabled if every message failed for good during that time.
   * `Infinity`: never. @default 432000000 (5 days)
   */
  disableAfter?: number | undefined;
  /**
   * Allows destinations in loopback, private and other non-public networks. Customers choose the URLs, so
   * leave it off in production. @default false
   */
  allowPrivateNetwork?: boolean | undefined;
  /**
   * Store of the destinations: an object with `findByTenant` and `findById`, and also with `list`, `insert`,
   * `replace` and `remove` if `DestinationsService` is to write to it. @default beside the queue, in its
   * database
   */
  store?: DestinationStore | undefined;
  /**
   * Serves an HTTP API for your own front end, on the application's own web server (Express or Fastify). It
   * has no effect in an application without a web server. @default none
   */
  api?: DestinationsApiOptions | undefined;
}

/** What a user of the API may see and change: the destinations of one tenant, or all destinations. */
export type DestinationsAccess = (
  { tenant: string; operator?: false } | { operator: true; tenant?: undefined }
) & {
  /**
   * Id or address of the operator, or of the person at the tenant, for the audit lines in the log, which show 200
   * characters of it. It does not affect access. @default none
   */
  name?: string | undefined;
};

/** The HTTP API of the destinations at run time. */
export interface DestinationsApiOptions {
  /**
   * Path of the API, which also owns every path below it. It cannot be one that the console serves.
   *
   * @default '/analytics/destinations'
   */
  path?: string | undefined;
  /**
   * Returns who sends a request, by its cookie or header: a tenant, which sees nothing of other tenants, or the
   * operator. If it returns `undefined`, the answer is 401. Called for every request, before the application's guards
   * and, on Express, its middleware; must leave the body unread. If it throws, the answer is 500 and the error is
   * logged.
   */
  authorize: (
    request: IncomingMessage,
  ) => DestinationsAccess | undefined | Promise<DestinationsAccess | undefined>;
}

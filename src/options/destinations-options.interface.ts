import type { IncomingMessage } from 'node:http';
import type { AnalyticsMessage } from '../messages/message.types.js';
import type { DestinationStore } from './destination-store.js';

/** Destinations that are added, changed and removed while the application runs: your customers' webhooks. */
export interface DestinationsOptions {
  /**
   * Encrypts the secrets and header values of destinations in the store, with AES-256-GCM: 32 random bytes as
   * base64 or hex (`openssl rand -base64 32`). Of several keys the first one encrypts, and all decrypt. To change
   * it, add the new one last, and put it first once all processes have it. `false` stores them as they are.
   * Required in production, unless the application's own `store` is only read.
   *
   * @default stored as they are, with a warning
   */
  encryptionKey?: string | string[] | false | undefined;
  /**
   * Whose event a message is. Synchronous; asked for messages whose tenant neither `analytics.tenant(id)` nor
   * the source's own `tenant` names. `undefined`: nobody's in particular. Anything other than a string or nothing is
   * logged once, and counts as nobody's.
   *
   * @default `context.groupId`; a call in which that is no string is refused
   */
  tenant?: ((message: AnalyticsMessage) => string | undefined) | undefined;
  /** Destinations that a tenant may have. @default 20 */
  limitPerTenant?: number | undefined;
  /**
   * Messages that may wait in the queue for each of these destinations, and for each of `customDestinations`. Anything
   * beyond that is refused and counted. @default 1,000,000
   */
  backlogLimit?: number | undefined;
  /**
   * How many messages that failed for good are kept for each of these destinations, and for each of `customDestinations`.
   * When there are about a twentieth more, the oldest are removed. @default 1,000,000
   */
  failedLimit?: number | undefined;
  /**
   * A destination for which every message failed for good during this time is disabled, in milliseconds.
   * Infinity: never. @default 432000000 (5 days)
   */
  disableAfter?: number | undefined;
  /**
   * Allows destinations in loopback, private and other non-public networks. Customers choose the URLs, so
   * leave it off in production. @default false
   */
  allowPrivateNetwork?: boolean | undefined;
  /**
   * Where the destinations are: an object with `findByTenant` and `findById`, and with `list`, `insert`,
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

/** What somebody may see and change through the API: the destinations of one tenant, or all of them. */
export type DestinationsAccess = (
  { tenant: string; operator?: false } | { operator: true; tenant?: undefined }
) & {
  /**
   * Who it is among the operators, or among the people of the tenant, for the audit lines in the log: an id or an
   * address, of which 200 characters are logged. It decides nothing. @default none
   */
  name?: string | undefined;
};

/** The HTTP API of the destinations at run time. */
export interface DestinationsApiOptions {
  /** Where it is: every path below belongs to it. @default '/analytics/destinations' */
  path?: string | undefined;
  /**
   * Who asks, by the request's cookie or header: a tenant, which sees nothing of the others, or the operator.
   * `undefined`: nobody who is known, so the answer is 401. It is asked at every request, before the
   * application's guards and, on Express, its middleware, and must leave the body unread. What it throws is
   * answered 500 and logged.
   */
  authorize: (
    request: IncomingMessage,
  ) => DestinationsAccess | undefined | Promise<DestinationsAccess | undefined>;
}

import type { ConnectionOptions, PgPool } from 'bullmq';
import type { EventName } from '../messages/analytics-events.types.js';
import type { AudienceStore } from '../audiences/audience-store.js';
import type { AnalyticsMessage, Integrations } from '../messages/message.types.js';
import type { OnViolation } from '../tracking/event-schemas.js';
import type { IdentityResolver, RequestContextMode } from '../tracking/request-context.types.js';
import type { StandardSchema } from '../tracking/standard-schema.types.js';

/** A source of messages: a web site, a mobile app, a server. */
export interface SourceOptions {
  /** Unique name, as destinations and `AnalyticsService.source(name)` use it. */
  name: string;
  /** The key that names this source to clients; unique. */
  writeKey: string;
  /** `false` drops what this source takes, after its checks. @default true */
  enabled?: boolean;
  /**
   * Keeps `track` calls from destinations, by the name of the event: `false` from all of them, a map from
   * those that are `false` in it. What is kept from all that it was meant for is counted: see `usage()`.
   *
   * @default everything passes
   * @example { 'Debug Event': false, 'Order Completed': { Webhooks: false } }
   */
  schema?: Record<string, boolean | Record<string, boolean>>;
}

/** Signing as the specification Standard Webhooks has it: https://www.standardwebhooks.com. */
export interface StandardWebhooksOptions {
  /**
   * `whsec_` and 24 to 64 random bytes in base64. The prefix may be left out; what is left is read as base64
   * all the same. Of several, up to 5, each signs: the new one and the old one while receivers change over.
   */
  secret: string | string[];
}

/** One webhooks destination: up to five URLs that get every message as a signed `POST`. */
export interface WebhooksOptions {
  /** Name of the destination in the queue; required and unique in an array. @default 'webhooks' */
  id?: string;
  /** 1 to 5 absolute `http:` or `https:` URLs, without user name and password. */
  urls: string[];
  /** At most 5 static headers, added to every request. */
  headers?: Record<string, string>;
  /** Signs every request: `X-Signature`, HMAC-SHA1 in hex over the bytes of the body. @default unsigned */
  sharedSecret?: string;
  /**
   * Signs every request as Standard Webhooks has it as well, with `webhook-timestamp` and
   * `webhook-signature`. @default without
   */
  standardWebhooks?: StandardWebhooksOptions;
  /** `false` switches the destination off: nothing new is queued for it. @default true */
  enabled?: boolean;
  /** Names of the sources that are connected to it. @default all */
  sources?: string[];
  /** Milliseconds for DNS, connect, TLS, request and response together. @default 5000 */
  timeout?: number;
  /** Milliseconds after the first attempt during which a message is retried. @default 14400000 (4 hours) */
  retryWindow?: number;
  /** Statuses that are worth another attempt. @default ['5xx', 408, 425, 429] */
  retryStatuses?: (number | '5xx')[];
  /**
   * Milliseconds that a message which failed for good is kept at least: the longest of all destinations
   * counts for each. @default 604800000 (7 days)
   */
  failedRetention?: number;
  /** Allows requests to loopback, private and other non-public addresses. @default false */
  allowPrivateNetwork?: boolean;
}

/** A database embedded in this process. */
export interface EmbeddedConnection {
  embedded: {
    /** Folder of the database; `memory://` keeps nothing. @default '.analytics' */
    dataDir?: string;
  };
}

/**
 * Where the queue lives: a `redis://`, `rediss://` or `postgres://` URL, ioredis options or an ioredis
 * client (it is duplicated, never closed), a `pg` Pool (its settings are used, not its connections), or
 * the embedded database.
 */
export type AnalyticsConnection = string | ConnectionOptions | PgPool | EmbeddedConnection;

/** What the calls of audiences and computed traits are like, and where their state is kept. */
export interface AudiencesOptions {
  /** Name of the source that the calls come from, unless a call names another. @default the first source */
  source?: string;
  /** Which destinations get the calls, unless a call says otherwise. @default all */
  integrations?: Integrations;
  /** Keeps who is in which audience. @default beside the queue, in its database */
  store?: AudienceStore;
}

/** Options of `AnalyticsModule.forRoot`. */
export interface AnalyticsModuleOptions {
  /** The short form of `sources` with one source, named `default`. One of the two is required. */
  writeKey?: string;
  /** The sources of this application; `AnalyticsService` speaks for the first. */
  sources?: SourceOptions[];
  /** Where messages are delivered. @default none */
  webhooks?: WebhooksOptions | WebhooksOptions[];
  /**
   * Base URL of another application's tracking API, such as `https://events.example.com`: batches go to its
   * `/v1/batch` with the write key of their source instead of to `webhooks` here, and are retried for four
   * hours. It may be in a private network. @default none
   */
  endpoint?: string;
  /** The queue. @default the host application's BullMQ connection, else the embedded database */
  connection?: AnalyticsConnection;
  /** Number of messages that triggers a flush; 1 sends each at once. @default 20 */
  flushAt?: number;
  /** The longest that a message waits for a flush, in milliseconds. @default 5000 */
  flushAfter?: number;
  /** Bound of the memory buffer while the queue cannot take more, in bytes. @default 67108864 (64 MiB) */
  maxBufferedBytes?: number;
  /** Batches that this process delivers at once. @default 16 */
  concurrency?: number;
  /** Sockets per origin. @default 64 */
  connections?: number;
  /** How long a shutdown may wait for work in flight, in milliseconds. @default 10000 */
  shutdownTimeout?: number;
  /** Merged under every message's context. @default {} */
  context?: object;
  /**
   * Sees each message last; returns it changed, or `null` to drop it. Synchronous; what it returns is
   * checked again, and if it throws, the message is dropped and counted. @default none
   */
  beforeSend?: (message: AnalyticsMessage) => AnalyticsMessage | null;
  /**
   * Tells who a request comes from, for the decorators that do not say it themselves. Synchronous; asked
   * when a message is recorded, after the guards.
   *
   * @default `id` or `sub` of the request's `user`; an anonymous id from the header `x-anonymous-id` or the
   *   cookie `ajs_anonymous_id`
   */
  identity?: IdentityResolver;
  /**
   * Where messages get `ip`, `userAgent`, `locale` and `page` of the request being handled under their
   * context: in decorated handlers and all that they call, in every handler, or nowhere.
   *
   * @default 'decorated'
   */
  requestContext?: RequestContextMode;
  /** Schemas of the properties of events, of any library that follows Standard Schema. @default none */
  events?: Partial<Record<EventName, StandardSchema>>;
  /**
   * What is done with an event that does not fit its schema: it is dropped and counted, it is sent with a
   * warning, or the call throws `EventViolationError`.
   *
   * @default 'warn'
   */
  onViolation?: OnViolation;
  /** What `AudiencesService` does where a call does not say otherwise. @default {} */
  audiences?: AudiencesOptions;
  /** `false`: every call is checked and then dropped. @default true */
  enabled?: boolean;
}

/** Options of the HTTP tracking API, in the extra `trackingApi`. */
export interface TrackingApiOptions {
  /** Stands before `/v1/…`: with `/events`, batches come to `/events/v1/batch`. @default '' */
  path?: string;
  /**
   * Messages a second that each write key may send to this process. What passes it is answered 429 with
   * `Retry-After`, and clients send it again. @default no limit
   */
  rateLimit?: number;
}

/** What `useClass` and `useExisting` of `forRootAsync` name. */
export interface AnalyticsOptionsFactory {
  createAnalyticsOptions(): AnalyticsModuleOptions | Promise<AnalyticsModuleOptions>;
}

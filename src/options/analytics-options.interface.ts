import type { ConnectionOptions, PgPool, RedisOptions } from 'bullmq';
import type { AudienceStore } from './audience-store.js';
import type { ConsoleOptions } from './console-options.interface.js';
import type { CustomDestination, CustomDestinationClass } from './custom-destination.interface.js';
import type { DestinationsOptions } from './destinations-options.interface.js';
import type { Fields } from '../messages/fields.types.js';
import type { AnalyticsMessage, Integrations } from '../messages/message.types.js';
import type { OutboxOptions } from './outbox-options.interface.js';
import type { IdentityResolver, RequestContextMode } from './request-context.types.js';
import type { EventSchemas, OnViolation } from './standard-schema.types.js';
import type { MetricsOptions, TracingOptions } from './telemetry-options.interface.js';
import type { WebhooksOptions } from './webhooks-options.interface.js';

/** A source of messages: a web site, a mobile app, a server. */
export interface SourceOptions {
  /** Unique name, used by destinations and `AnalyticsService.source(name)`. */
  name: string;
  /** The key that identifies this source to clients; unique. */
  writeKey: string;
  /** `false` checks the messages of this source and then drops them. @default true */
  enabled?: boolean | undefined;
  /**
   * Filters `track` calls by event name: `false` keeps an event from all destinations, a map from those that it
   * maps to `false`. `usage()` counts the calls that are kept from all of their destinations.
   *
   * @default everything passes
   * @example { 'Debug Event': false, 'Order Completed': { Webhooks: false } }
   */
  schema?: Record<string, boolean | Record<string, boolean>> | undefined;
  /**
   * Tenant that all messages of this source belong to, whatever they say themselves. For a write key that you
   * give to a customer. @default as the option `destinations.tenant` says
   */
  tenant?: string | undefined;
}

/** A database embedded in this process. */
export interface EmbeddedConnection {
  embedded: {
    /**
     * Folder of the database; `memory://` keeps nothing.
     *
     * @default '.analytics', or `memory://` if `NODE_ENV` is `test`
     */
    dataDir?: string | undefined;
    /**
     * What queued messages survive: with `'disk'` a power cut, since every write waits for the disk; with
     * `'process'` only a crash of the process, which is faster on a slow disk. @default 'disk'
     */
    durability?: 'disk' | 'process' | undefined;
  };
}

/** A node of a Redis Cluster: its URL, its port on this machine, or its address. */
export type ClusterNode = string | number | { host?: string | undefined; port?: number | undefined };

/**
 * A Redis Cluster. The options of ioredis's `Cluster` go next to `cluster`: `redisOptions` with a password or
 * `tls`, `natMap`, `dnsLookup`. A password or `rediss://` in the URL of a node applies to all nodes.
 */
export interface ClusterConnection {
  /** Some of its nodes, from which the client finds the others. */
  cluster: readonly ClusterNode[];
  redisOptions?: RedisOptions | undefined;
  [option: string]: unknown;
}

/**
 * Database of the queue: a `redis://`, `rediss://` or `postgres://` URL, ioredis options (also those of
 * Sentinel), an ioredis client or `Cluster` (duplicated, never closed), the nodes of a Redis Cluster, a `pg` Pool
 * (only its settings are used), or the embedded database.
 */
export type AnalyticsConnection =
  string | ConnectionOptions | ClusterConnection | PgPool | EmbeddedConnection;

/** Defaults for the calls of audiences and computed traits, and the store of their state. */
export interface AudiencesOptions {
  /** Name of the source that the calls come from, unless a call names another. @default the first source */
  source?: string | undefined;
  /** Which destinations get the calls, unless a call says otherwise. @default all */
  integrations?: Integrations | undefined;
  /** Stores who is in which audience. Give all processes the same one. @default beside the queue, in its database */
  store?: AudienceStore | undefined;
}

/** Options of `AnalyticsModule.forRoot`, and what the factory of `forRootAsync` returns. */
export type AnalyticsModuleOptions = ModuleSettings & (OneSource | SeveralSources);

/** The short form for a single source, which is named `default`. */
interface OneSource {
  /** The key that identifies this application's only source to clients: any non-empty text. */
  writeKey: string;
  sources?: undefined;
}

interface SeveralSources {
  writeKey?: undefined;
  /** The sources of this application, at least one. `AnalyticsService` uses the first one. */
  sources: SourceOptions[];
}

interface ModuleSettings {
  /** The webhooks that messages are delivered to. @default none */
  webhooks?: WebhooksOptions | WebhooksOptions[] | undefined;
  /** Destinations that `DestinationsService` adds and changes at run time. @default none */
  destinations?: DestinationsOptions | undefined;
  /**
   * Destinations in the application's own code: a warehouse, a bus, a file. If a module of the application
   * provides the class, that instance is used. Otherwise an instance is created, with dependencies that are global
   * or imported next to `useFactory`. @default none
   */
  customDestinations?: (CustomDestination | CustomDestinationClass)[] | undefined;
  /**
   * Serves a page that manages destinations and shows what happened to their events. Needs `destinations`.
   * @default none
   */
  console?: ConsoleOptions | undefined;
  /**
   * Base URL of another application's tracking API, such as `https://events.example.com`. Batches go to its
   * `/v1/batch` with the write key of their source, instead of to `webhooks` here, and are retried for four
   * hours. The URL may be in a private network. @default none
   */
  endpoint?: string | undefined;
  /**
   * Database of the queue. It is not opened if `enabled` is `false` or there is no destination.
   *
   * @default the host application's BullMQ connection, else the embedded database
   */
  connection?: AnalyticsConnection | undefined;
  /**
   * Keeps the data of this application apart from that of others on the same Redis or PostgreSQL database: 1 to 40
   * lower-case letters, digits and hyphens, not beginning with a hyphen. All processes of an application need the
   * same prefix.
   *
   * @default the `prefix` of the host application's `BullModule` if its connection is used, else none
   */
  prefix?: string | undefined;
  /**
   * Number of BullMQ queues that messages are spread over by their destination, from 1 to 32. More than one helps
   * only on a Redis Cluster, which keeps each queue on one of its nodes. You may raise or lower it at any deploy:
   * messages in queues that are no longer added to are still delivered. @default 8 on a Redis Cluster, else 1
   */
  partitions?: number | undefined;
  /**
   * Number of messages that triggers a flush; with 1, no message waits for others. Calls return before the flush
   * even then, so only `await flush()` keeps an event through a crash. @default 20
   */
  flushAt?: number | undefined;
  /** The longest time that a message waits for a flush, in milliseconds. @default 5000 */
  flushAfter?: number | undefined;
  /**
   * Limit of the memory buffer while the queue cannot take more, in bytes of messages. On the heap, the messages may
   * take three times as much.
   * @default 67108864 (64 MiB), or an eighth of the heap that Node gives the process, if that is less
   */
  maxBufferedBytes?: number | undefined;
  /**
   * How much this process delivers at once: `concurrency` × `connections` requests over all destinations. An
   * idle destination may always send one request.
   *
   * @default 16
   */
  concurrency?: number | undefined;
  /** Sockets per origin. @default 64 */
  connections?: number | undefined;
  /** The longest that a shutdown may take, in milliseconds. @default 10000 */
  shutdownTimeout?: number | undefined;
  /**
   * Milliseconds that a job with an unknown destination or format is left to other workers before it fails for
   * good: it belongs to another version of the application. 0 fails the job at once. @default 600000 (10 minutes)
   */
  unknownJobTimeout?: number | undefined;
  /** Default fields of every message's context. @default {} */
  context?: Fields | undefined;
  /**
   * Synchronous hook that gets each message last and returns it, changed or not, or `null` to drop it. The
   * returned message is checked again. If the hook throws, the message is dropped and counted. @default none
   */
  beforeSend?: ((message: AnalyticsMessage) => AnalyticsMessage | null) | undefined;
  /**
   * Identifies the user of a request, for decorators that do not do so themselves. Synchronous; called when a
   * message is recorded, after the guards. A key that the result leaves out gets its default. If the function
   * returns `undefined`, the request has no identity.
   *
   * @default `defaultIdentity`: `id`, `userId` or `sub` of the request's `user`; an anonymous id from the
   *   header `x-anonymous-id` or the cookie `ajs_anonymous_id`
   */
  identity?: IdentityResolver | undefined;
  /**
   * Where messages get `ip`, `userAgent`, `locale` and `page` of the current request as defaults of their context:
   * in decorated handlers and everything they call, in every handler, or nowhere.
   *
   * @default 'decorated'
   */
  requestContext?: RequestContextMode | undefined;
  /**
   * Schemas of event properties, from any library that implements Standard Schema. `defineEvents` derives the
   * types of events from them. @default none
   */
  events?: EventSchemas | undefined;
  /**
   * What happens to an event that does not fit its schema: `'drop'` drops and counts it, `'warn'` sends it with a
   * warning, and `'throw'` makes the call throw `EventViolationError`.
   *
   * @default 'warn'
   */
  onViolation?: OnViolation | undefined;
  /** Defaults of `AudiencesService`. @default {} */
  audiences?: AudiencesOptions | undefined;
  /**
   * A table in the application's PostgreSQL database, in which `within()` stores messages in the same transaction
   * as the application's data. Every process with a worker moves them to the queue. @default none
   */
  outbox?: OutboxOptions | undefined;
  /**
   * Whether to keep a history of each destination for `deliveries.recent()` and `deliveries.stats()`: its latest
   * 100 deliveries, and hourly counts for seven days. The history is stored beside the queue. @default true
   */
  history?: boolean | undefined;
  /** How finely metrics are divided, if the application has an OpenTelemetry SDK. @default {} */
  metrics?: MetricsOptions | undefined;
  /** Spans of requests, and trace headers for receivers, if the application has an OpenTelemetry SDK. @default {} */
  tracing?: TracingOptions | undefined;
  /** `false`: every call is checked and then dropped; nothing is opened or delivered. @default true */
  enabled?: boolean | undefined;
}

/** Options of the HTTP tracking API, in the extra `trackingApi`. */
export interface TrackingApiOptions {
  /**
   * Prefix of `/v1/…`: with `/events`, clients send batches to `/events/v1/batch`. Needed if the application
   * has routes of its own under the API's paths. @default ''
   */
  path?: string | undefined;
  /**
   * Messages per second, and also kilobytes per second, that each write key may send to this process. Further
   * requests are answered with 429 and `Retry-After`, and clients send them again. @default no limit
   */
  rateLimit?: number | undefined;
}

/** Interface of the class that is given to `forRootAsync` as `useClass` or `useExisting`. */
export interface AnalyticsOptionsFactory {
  createAnalyticsOptions(): AnalyticsModuleOptions | Promise<AnalyticsModuleOptions>;
}

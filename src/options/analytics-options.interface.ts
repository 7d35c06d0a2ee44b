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
  /** `false` drops the messages of this source after their checks. @default true */
  enabled?: boolean | undefined;
  /**
   * Keeps `track` calls from destinations, by the name of the event: `false` keeps it from all of them, a map
   * from those that are `false` in it. A call that is kept from all of its destinations is counted: see
   * `usage()`.
   *
   * @default everything passes
   * @example { 'Debug Event': false, 'Order Completed': { Webhooks: false } }
   */
  schema?: Record<string, boolean | Record<string, boolean>> | undefined;
  /**
   * The tenant whose events the source's messages are, whatever they say themselves: for a write key that a
   * customer was given. @default as the option `destinations.tenant` says
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
     * `'process'` only a crash of the process, which is faster where the disk is slow. @default 'disk'
     */
    durability?: 'disk' | 'process' | undefined;
  };
}

/** A node of a Redis Cluster: its URL, its port on this machine, or its address. */
export type ClusterNode = string | number | { host?: string | undefined; port?: number | undefined };

/**
 * A Redis Cluster. Beside `cluster` stand the options of ioredis's `Cluster`: `redisOptions` with a password or
 * `tls`, `natMap`, `dnsLookup`. The password in the URL of a node, and `rediss://`, go for all nodes.
 */
export interface ClusterConnection {
  /** Some of its nodes, by which the others are found. */
  cluster: readonly ClusterNode[];
  redisOptions?: RedisOptions | undefined;
  [option: string]: unknown;
}

/**
 * Where the queue lives: a `redis://`, `rediss://` or `postgres://` URL, ioredis options (those of Sentinel
 * too), an ioredis client or `Cluster` (duplicated, never closed), the nodes of a Redis Cluster, a `pg` Pool
 * (only its settings are used), or the embedded database.
 */
export type AnalyticsConnection =
  string | ConnectionOptions | ClusterConnection | PgPool | EmbeddedConnection;

/** Defaults for the calls of audiences and computed traits, and where their state is kept. */
export interface AudiencesOptions {
  /** Name of the source that the calls come from, unless a call names another. @default the first source */
  source?: string | undefined;
  /** Which destinations get the calls, unless a call says otherwise. @default all */
  integrations?: Integrations | undefined;
  /** Stores who is in which audience. @default beside the queue, in its database */
  store?: AudienceStore | undefined;
}

/** Options of `AnalyticsModule.forRoot`, and what the factory of `forRootAsync` returns. */
export type AnalyticsModuleOptions = ModuleSettings & (OneSource | SeveralSources);

/** The short form of one source, which is named `default`. */
interface OneSource {
  /** The key that identifies this application's only source to clients: any text that is not empty. */
  writeKey: string;
  sources?: undefined;
}

interface SeveralSources {
  writeKey?: undefined;
  /** The sources of this application, at least one. `AnalyticsService` uses the first one. */
  sources: SourceOptions[];
}

interface ModuleSettings {
  /** Where messages are delivered. @default none */
  webhooks?: WebhooksOptions | WebhooksOptions[] | undefined;
  /** Destinations at run time, which `DestinationsService` adds and changes. @default none */
  destinations?: DestinationsOptions | undefined;
  /**
   * Destinations in the application's own code: a warehouse, a bus, a file. If a module of the application
   * provides a class, its instance is used; else one is made, from providers that are global or imported
   * beside `useFactory`. @default none
   */
  customDestinations?: (CustomDestination | CustomDestinationClass)[] | undefined;
  /**
   * Serves a page on which destinations are managed, and what became of their events is shown. Needs
   * `destinations`. @default none
   */
  console?: ConsoleOptions | undefined;
  /**
   * Base URL of another application's tracking API, such as `https://events.example.com`: batches go to its
   * `/v1/batch`, with the write key of their source, instead of to `webhooks` here. They are retried for four
   * hours. It may be in a private network. @default none
   */
  endpoint?: string | undefined;
  /**
   * The queue. It is not opened if `enabled` is `false`, or without a destination.
   *
   * @default the host application's BullMQ connection, else the embedded database
   */
  connection?: AnalyticsConnection | undefined;
  /**
   * Keeps everything that is stored apart from other applications on the same Redis or PostgreSQL database: 1 to 40
   * lower-case letters, digits and hyphens, not beginning with a hyphen. All processes of an application need the
   * same one.
   *
   * @default the `prefix` of the host application's `BullModule` if its connection is used, else none
   */
  prefix?: string | undefined;
  /**
   * How many BullMQ queues messages are spread over, by their destination. More than one is of use on a Redis
   * Cluster alone, which keeps each queue on one of its nodes. It may be raised and lowered at any deploy: what is
   * in a queue that nobody adds to any more is still delivered. From 1 to 32. @default 8 on a Redis Cluster, else 1
   */
  partitions?: number | undefined;
  /**
   * Number of messages that triggers a flush; with 1, none waits for others. Calls return before that all the same, so
   * only `await flush()` keeps an event through a crash. @default 20
   */
  flushAt?: number | undefined;
  /** The longest time that a message waits for a flush, in milliseconds. @default 5000 */
  flushAfter?: number | undefined;
  /**
   * Limit of the memory buffer while the queue cannot take more, in bytes of messages. They may take three times as much
   * of the heap. @default 67108864 (64 MiB), or an eighth of the heap that Node gives the process, if that is less
   */
  maxBufferedBytes?: number | undefined;
  /**
   * How much this process delivers at once: `concurrency` × `connections` requests over all destinations. An
   * idle destination may always send one.
   *
   * @default 16
   */
  concurrency?: number | undefined;
  /** Sockets per origin. @default 64 */
  connections?: number | undefined;
  /** The longest that a shutdown may take, in milliseconds. @default 10000 */
  shutdownTimeout?: number | undefined;
  /**
   * How long a job that this process does not know is left to other workers before it fails for good: its
   * destination or its format belongs to another version of the application. In milliseconds; 0 fails it at
   * once. @default 600000 (10 minutes)
   */
  unknownJobTimeout?: number | undefined;
  /** Merged under every message's context. @default {} */
  context?: Fields | undefined;
  /**
   * Sees each message last, and returns it, changed or not, or `null` to drop it. Synchronous. The returned
   * message is checked again. If the hook throws, the message is dropped and counted. @default none
   */
  beforeSend?: ((message: AnalyticsMessage) => AnalyticsMessage | null) | undefined;
  /**
   * Identifies the user of a request, for decorators that do not do so themselves. Synchronous; called when a
   * message is recorded, after the guards. A key that it leaves out has its default. If it returns
   * `undefined`, the request has no identity.
   *
   * @default `defaultIdentity`: `id`, `userId` or `sub` of the request's `user`; an anonymous id from the
   *   header `x-anonymous-id` or the cookie `ajs_anonymous_id`
   */
  identity?: IdentityResolver | undefined;
  /**
   * Where messages get `ip`, `userAgent`, `locale` and `page` of the current request under their context: in
   * decorated handlers and everything they call, in every handler, or nowhere.
   *
   * @default 'decorated'
   */
  requestContext?: RequestContextMode | undefined;
  /**
   * Schemas of the properties of events, from any library that follows Standard Schema. `defineEvents`
   * derives the types of events from them. @default none
   */
  events?: EventSchemas | undefined;
  /**
   * What happens to an event that does not fit its schema: it is dropped and counted, it is sent with a
   * warning, or the call throws `EventViolationError`.
   *
   * @default 'warn'
   */
  onViolation?: OnViolation | undefined;
  /** Defaults of `AudiencesService`. @default {} */
  audiences?: AudiencesOptions | undefined;
  /**
   * A table in the application's PostgreSQL database, in which `within()` stores messages together with the
   * data that they speak of. Every process with a worker moves them to the queue. @default none
   */
  outbox?: OutboxOptions | undefined;
  /**
   * Keeps what happened at each destination, for `deliveries.recent()` and `deliveries.stats()`: its latest 100
   * deliveries, and counts by the hour for seven days. They are stored beside the queue. @default true
   */
  history?: boolean | undefined;
  /** How finely metrics are divided, where the application has an OpenTelemetry SDK. @default {} */
  metrics?: MetricsOptions | undefined;
  /** Spans of requests, and what receivers learn of traces, where the application has an OpenTelemetry SDK. @default {} */
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
   * Messages a second, and kilobytes a second, that each write key may send to this process. Further requests
   * are answered 429 with `Retry-After`, and clients send them again. @default no limit
   */
  rateLimit?: number | undefined;
}

/** The interface of the class that `useClass` or `useExisting` of `forRootAsync` names. */
export interface AnalyticsOptionsFactory {
  createAnalyticsOptions(): AnalyticsModuleOptions | Promise<AnalyticsModuleOptions>;
}

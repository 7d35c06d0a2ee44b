import type { ConnectionOptions, PgPool } from 'bullmq';
import type { SourceFilter } from '../messages/source-filter.js';
import type { HmacKey } from '../signing/hmac-key.js';
import type { ClusterNode } from './analytics-options.interface.js';
import type { AudienceStore } from './audience-store.js';
import type { ResolvedConsole } from './resolve-console.js';
import type { ResolvedCustomDestinations } from './resolve-custom-destinations.js';
import type { ResolvedDestinations } from './resolve-destinations.js';
import type { AnalyticsMessage, Integrations, JsonObject } from '../messages/message.types.js';
import type { IdentityResolver, RequestContextMode } from './request-context.types.js';
import type { OutboxDatabase } from './outbox-options.interface.js';
import type { OnViolation, StandardSchema } from './standard-schema.types.js';

/** A source with its defaults filled in. */
export interface ResolvedSource {
  name: string;
  writeKey: string;
  enabled: boolean;
  /** Filter that keeps events from some or all destinations. */
  schema: SourceFilter;
  /** Tenant of all messages of this source; `undefined` if the messages name their own. */
  tenant: string | undefined;
}

/** A webhooks destination with every default filled in and every rule checked. */
export interface ResolvedWebhooks {
  id: string;
  urls: URL[];
  /** The static headers, as the customer wrote them. */
  headers: Record<string, string>;
  sharedSecret: string | undefined;
  /** The keys of the Standard Webhooks secrets. */
  standardWebhooks: { keys: HmacKey[] } | undefined;
  enabled: boolean;
  /** Names of the connected sources. */
  sources: string[];
  /** Milliseconds for DNS, connect, TLS, request and response together. */
  timeout: number;
  /** Milliseconds from the first attempt during which a message is retried. */
  retryWindow: number;
  retryStatuses: (number | '5xx')[];
  /** Requests a second, over all processes; `undefined` for no limit. */
  rateLimit: number | undefined;
  /** Milliseconds that a message which failed for good is kept. */
  failedRetention: number;
  /** How many messages that failed for good are kept. */
  failedLimit: number;
  /** The largest number of messages that may wait for it in the queue. */
  backlogLimit: number;
  allowPrivateNetwork: boolean;
}

/** The remote tracking API that messages go to instead of webhooks. */
export interface ResolvedForwarding {
  /** The URL that batches are posted to. */
  url: URL;
  timeout: number;
  retryWindow: number;
  retryStatuses: (number | '5xx')[];
  failedRetention: number;
}

/** The HTTP tracking API of this application. */
export interface ResolvedTrackingApi {
  /** Prefix of `/v1/…`, without a trailing slash. */
  path: string;
  /** Messages a second per write key; `Infinity` for no limit. */
  rateLimit: number;
}

/** What queued messages survive in the embedded database. */
export type Durability = 'disk' | 'process';

/** A Redis Cluster: some nodes, from which the client finds the others, and further options of `ioredis`. */
export interface ResolvedCluster {
  kind: 'cluster';
  nodes: readonly ClusterNode[];
  options: object;
}

/** A queue on Redis. */
export type ResolvedRedis = { kind: 'redis'; redis: string | ConnectionOptions } | ResolvedCluster;

/** The queue's connection. `kind` tells the databases apart; `none` if this process delivers nothing. */
export type ResolvedConnection =
  | ResolvedRedis
  | { kind: 'postgres'; postgres: string | PgPool }
  | { kind: 'embedded'; dataDir: string; durability: Durability }
  | { kind: 'none' };

/** Location of the outbox. Its names need no escaping. */
export interface ResolvedOutbox {
  connection: string | PgPool | OutboxDatabase;
  schema: string;
  table: string;
  migrate: boolean;
}

/** Options of the decorators, the request's context and the event checks. */
export interface ResolvedIngest {
  /** The application's own function, whose result is merged over the default identity. */
  identity: IdentityResolver | undefined;
  requestContext: RequestContextMode;
  /** Schemas by event name. */
  events: Record<string, StandardSchema>;
  onViolation: OnViolation;
}

/** Metric attributes that can have very many values. */
export interface ResolvedMetrics {
  /** Whether metrics name each run-time destination by its id. */
  eachDestination: boolean;
  tenants: boolean;
}

/** Spans of requests, and the trace headers for receivers. */
export interface ResolvedTracing {
  /** Whether requests have the header `traceparent`. */
  propagate: boolean;
  /** Largest number of requests per second that have a span. */
  spansPerSecond: number;
}

/** Defaults for the calls of audiences and computed traits, and the store of their state. */
export interface ResolvedAudiences {
  /** Name of the source that the calls come from. */
  source: string | undefined;
  integrations: Integrations | undefined;
  /** `undefined`: beside the queue, in its database. */
  store: AudienceStore | undefined;
}

/** The options inside the module: complete and checked. */
export interface ResolvedOptions {
  sources: [ResolvedSource, ...ResolvedSource[]];
  webhooks: ResolvedWebhooks[];
  /** `undefined` if there are no destinations at run time. */
  destinations: ResolvedDestinations | undefined;
  /** Whether `context.groupId` names the tenant of a message, so that it has to be a string. */
  groupIsTenant: boolean;
  customDestinations: ResolvedCustomDestinations;
  /** `undefined` if it is not served. */
  console: ResolvedConsole | undefined;
  /** `undefined` if messages are delivered here. */
  forwarding: ResolvedForwarding | undefined;
  /** `undefined` if it is not served. */
  trackingApi: ResolvedTrackingApi | undefined;
  connection: ResolvedConnection;
  /** Keeps the stored data apart from that of other applications on the same database. */
  prefix: string | undefined;
  /** How many BullMQ queues new messages are spread over. */
  partitions: number;
  /**
   * Whether the embedded database is only the fallback, because no connection was given. A warning is then logged in
   * production.
   */
  connectionIsDefault: boolean;
  worker: boolean;
  flushAt: number;
  flushAfter: number;
  maxBufferedBytes: number;
  concurrency: number;
  connections: number;
  shutdownTimeout: number;
  /** Milliseconds that a job of an unknown destination or format is left to other workers. */
  unknownJobTimeout: number;
  context: JsonObject;
  beforeSend: ((message: AnalyticsMessage) => AnalyticsMessage | null) | undefined;
  ingest: ResolvedIngest;
  audiences: ResolvedAudiences;
  /** `undefined` if the application has none. */
  outbox: ResolvedOutbox | undefined;
  /** Whether a history of deliveries is kept. */
  history: boolean;
  metrics: ResolvedMetrics;
  tracing: ResolvedTracing;
  enabled: boolean;
}

/** Whether messages may go to destinations in the application's own code. */
export function hasCustomDestinations({ customDestinations }: ResolvedOptions): boolean {
  return customDestinations.objects.length > 0 || customDestinations.classes.size > 0;
}

/** Returns the names of the sources, in order. */
export function sourceNames([first, ...rest]: ResolvedOptions['sources']): [string, ...string[]] {
  return [first.name, ...rest.map(({ name }) => name)];
}

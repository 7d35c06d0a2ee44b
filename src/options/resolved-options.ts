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
  /** Which of its events are kept from which destinations. */
  schema: SourceFilter;
  /** Whose events its messages are; `undefined` if they say so themselves. */
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

/** A Redis Cluster: some of its nodes, by which the others are found, and further options of `ioredis`. */
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

/** Where the outbox is. Its names need no escaping. */
export interface ResolvedOutbox {
  connection: string | PgPool | OutboxDatabase;
  schema: string;
  table: string;
  migrate: boolean;
}

/** Options of the decorators, the request's context and the event checks. */
export interface ResolvedIngest {
  /** The application's own function, which is merged over the default one. */
  identity: IdentityResolver | undefined;
  requestContext: RequestContextMode;
  /** By the name of the event. */
  events: Record<string, StandardSchema>;
  onViolation: OnViolation;
}

/** Attributes of the metrics that may take very many values. */
export interface ResolvedMetrics {
  /** Whether each destination at run time is named by its id. */
  eachDestination: boolean;
  tenants: boolean;
}

/** What receivers learn of traces. */
export interface ResolvedTracing {
  /** Whether requests have the header `traceparent`. */
  propagate: boolean;
  /** How many requests a second have a span. */
  spansPerSecond: number;
}

/** Defaults for the calls of audiences and computed traits, and where their state is kept. */
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
  /** `undefined` if there are none at run time. */
  destinations: ResolvedDestinations | undefined;
  /** Whether the group in its context says whose event a message is, so that it has to be a text. */
  groupIsTenant: boolean;
  customDestinations: ResolvedCustomDestinations;
  /** `undefined` if it is not served. */
  console: ResolvedConsole | undefined;
  /** `undefined` if messages are delivered here. */
  forwarding: ResolvedForwarding | undefined;
  /** `undefined` if it is not served. */
  trackingApi: ResolvedTrackingApi | undefined;
  connection: ResolvedConnection;
  /** Keeps what is stored apart from other applications on the same database. */
  prefix: string | undefined;
  /** How many BullMQ queues new messages are spread over. */
  partitions: number;
  /**
   * `true` if nobody chose the embedded database. It is then only the fallback, so a warning is logged in
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

/** Whether messages may go to destinations of the application's own code. */
export function hasCustomDestinations({ customDestinations }: ResolvedOptions): boolean {
  return customDestinations.objects.length > 0 || customDestinations.classes.size > 0;
}

/** The names of the sources, in their order. */
export function sourceNames([first, ...rest]: ResolvedOptions['sources']): [string, ...string[]] {
  return [first.name, ...rest.map(({ name }) => name)];
}

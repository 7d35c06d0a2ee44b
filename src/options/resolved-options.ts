import type { ConnectionOptions, PgPool } from 'bullmq';
import type { EventSchema } from '../destinations/event-schema.js';
import type { HmacKey } from '../destinations/webhooks/hmac-key.js';
import type { AudienceStore } from '../audiences/audience-store.js';
import type { AnalyticsMessage, Integrations, JsonObject } from '../messages/message.types.js';
import type { OnViolation } from '../tracking/event-schemas.js';
import type { IdentityResolver, RequestContextMode } from '../tracking/request-context.types.js';
import type { StandardSchema } from '../tracking/standard-schema.types.js';

/** A source with its defaults filled in. */
export interface ResolvedSource {
  name: string;
  writeKey: string;
  enabled: boolean;
  /** Which of its events are kept from which destinations. */
  schema: EventSchema;
}

/** A webhooks destination with every default filled in and every rule checked. */
export interface ResolvedWebhooks {
  id: string;
  urls: URL[];
  /** The static headers, as the customer wrote them. */
  headers: Record<string, string>;
  sharedSecret: string | undefined;
  /** The keys that the secrets of Standard Webhooks stand for. */
  standardWebhooks: { keys: HmacKey[] } | undefined;
  enabled: boolean;
  /** Names of the connected sources. */
  sources: string[];
  /** Milliseconds for DNS, connect, TLS, request and response together. */
  timeout: number;
  /** Milliseconds from the first attempt during which a message is retried. */
  retryWindow: number;
  retryStatuses: (number | '5xx')[];
  /** Milliseconds that a message which failed for good is kept. */
  failedRetention: number;
  allowPrivateNetwork: boolean;
}

/** The remote tracking API that messages go to instead of webhooks. */
export interface ResolvedForwarding {
  /** What batches are posted to. */
  url: URL;
  timeout: number;
  retryWindow: number;
  retryStatuses: (number | '5xx')[];
  failedRetention: number;
}

/** The HTTP tracking API of this application. */
export interface ResolvedTrackingApi {
  /** Stands before `/v1/…`; without a slash at its end. */
  path: string;
  /** Messages a second and write key; `Infinity` for no limit. */
  rateLimit: number;
}

/** The queue's place, told apart by `kind`. */
export type ResolvedConnection =
  | { kind: 'redis'; redis: string | ConnectionOptions }
  | { kind: 'postgres'; postgres: string | PgPool }
  | { kind: 'embedded'; dataDir: string };

/** What the decorators, the request's context and the checks of events go by. */
export interface ResolvedTracking {
  identity: IdentityResolver;
  requestContext: RequestContextMode;
  /** By the name of the event. */
  events: Record<string, StandardSchema>;
  onViolation: OnViolation;
}

/** What the calls of audiences and computed traits are like, and where their state is kept. */
export interface ResolvedAudiences {
  /** Name of the source that they come from. */
  source: string | undefined;
  integrations: Integrations | undefined;
  /** `undefined`: beside the queue. */
  store: AudienceStore | undefined;
}

/** The options as everything inside the module sees them: complete and checked. */
export interface ResolvedOptions {
  sources: [ResolvedSource, ...ResolvedSource[]];
  webhooks: ResolvedWebhooks[];
  /** `undefined` where messages are delivered here. */
  forwarding: ResolvedForwarding | undefined;
  /** `undefined` where it is not served. */
  trackingApi: ResolvedTrackingApi | undefined;
  connection: ResolvedConnection;
  /** `true` when nobody chose the embedded database: it is the fall-back, and production hears of it. */
  connectionIsDefault: boolean;
  worker: boolean;
  flushAt: number;
  flushAfter: number;
  maxBufferedBytes: number;
  concurrency: number;
  connections: number;
  shutdownTimeout: number;
  context: JsonObject;
  beforeSend: ((message: AnalyticsMessage) => AnalyticsMessage | null) | undefined;
  tracking: ResolvedTracking;
  audiences: ResolvedAudiences;
  enabled: boolean;
}

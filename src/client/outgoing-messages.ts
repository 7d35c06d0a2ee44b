import debugFactory from 'debug';
import { MessageTooLargeError } from '../errors/message.errors.js';
import { OwnContext } from '../shared/own-context.js';
import type { Telemetry } from '../shared/telemetry.js';
import type { AnalyticsMessage, JsonObject } from '../messages/message.types.js';
import { serialize, type SerializedMessage, stringify } from '../messages/serialize.js';
import { eventFilterOf, type SourceFilter, withFilter } from '../messages/source-filter.js';
import { isTenantName } from '../options/tenant-name.js';
import { webhookBody } from '../webhooks/request/webhook-body.js';
import type { Route, Router, SourceConnection } from './router.js';
import { type SourceUsage, SourceUsages } from './source-usage.js';
import { serializedWithin } from './spare-context.js';

const debug = debugFactory('analytics');

/** What decides how a message goes to the queue. */
export interface OutgoingOptions {
  /** Schemas by the name of the source: which events are kept from which destinations. */
  schemas?: ReadonlyMap<string, SourceFilter>;
  /** How a message is serialised for the destinations. @default as a webhook's body */
  body?: (message: AnalyticsMessage) => JsonObject;
}

/** A message as it goes to the queue, with its route. */
export interface OutgoingMessage extends SerializedMessage {
  /** Tenant of the event; `undefined` if there is none, or if no tenant can have that name. */
  tenant: string | undefined;
  /** Bytes of the JSON of `integrations`, in UTF-8, if they are kept with the message; else 0. */
  integrationsBytes: number;
  route: Route | Promise<Route>;
}

export interface OutgoingTerms {
  /** Tenant of the event, if the call or the source names one. */
  tenant?: string | undefined;
  /** Limit of the serialised message, in bytes. @default 32,768 */
  maxBytes?: number | undefined;
  /** Part of the context that is left out if there is no room for it. */
  spareContext?: JsonObject | undefined;
  /** Whether another program sent the message, and may have put anything into its `integrations`. */
  isReceived?: boolean | undefined;
  /** Whether the whole message is stored before it goes to the queue. */
  isStored?: boolean;
}

/** Serialises and routes messages, and counts and reports what each source has taken. */
export class OutgoingMessages {
  private readonly usages = new SourceUsages();
  private readonly context = new OwnContext();

  constructor(
    private readonly router: Router,
    private readonly options: OutgoingOptions,
    private readonly telemetry?: Telemetry,
  ) {}

  /**
   * Returns a message as it goes to the queue, without `spareContext` if it would be too large.
   *
   * @throws InvalidMessageError, MessageTooLargeError
   */
  of(source: string, message: AnalyticsMessage, terms: OutgoingTerms = {}): OutgoingMessage {
    const { isReceived, isStored } = terms;
    const filter = eventFilterOf(message, this.options.schemas?.get(source));
    const { json, bytes } = this.serialized(message, filter, terms);
    // Computed before anything is looked up: nobody would wait for the answer if this throws.
    const integrationsBytes = isReceived === true || isStored === true ? bytesOfIntegrations(message) : 0;
    // Determined once, since `ownerOf` may call a function of the application.
    const tenant = terms.tenant ?? this.router.ownerOf?.(message, undefined);
    const route = this.router.route(source, message, filter, tenant, isReceived);
    return { json, bytes, integrationsBytes, tenant: isTenantName(tenant) ? tenant : undefined, route };
  }

  /** Whether a message is within its size limit. @throws InvalidMessageError */
  fits(source: string, message: AnalyticsMessage, terms: OutgoingTerms): boolean {
    try {
      this.serialized(message, eventFilterOf(message, this.options.schemas?.get(source)), terms);
      return true;
    } catch (error) {
      if (error instanceof MessageTooLargeError) return false;
      throw error;
    }
  }

  /** Resolves to whether destinations can be looked up now. Never rejects. Waits while their database stands still. */
  async canLookUp(): Promise<boolean> {
    // Destinations that the application makes at its start may take any time.
    if (!this.router.isReady) return false;
    try {
      await this.router.checkLookups?.();
      return true;
    } catch {
      return false;
    }
  }

  /** Returns the route that a message would take. */
  routeOf(source: string, message: AnalyticsMessage, tenant?: string): Route | Promise<Route> {
    return this.router.route(
      source,
      message,
      eventFilterOf(message, this.options.schemas?.get(source)),
      tenant,
    );
  }

  /** Whether messages with the same `integrations` may have different destinations. */
  variesByMessage(source: string, message: AnalyticsMessage, tenant?: string): boolean {
    return this.router.variesByMessage?.(source, message, tenant) === true;
  }

  /** Returns a message's connections to destinations in the options; `undefined` while unknown. */
  configured(source: string, message: AnalyticsMessage): readonly SourceConnection[] | undefined {
    const filter = eventFilterOf(message, this.options.schemas?.get(source));
    return this.router.configured?.(source, message, filter);
  }

  /** Abandons a route that nobody waits for any longer, whatever becomes of it. */
  abandon(route: Promise<Route>): void {
    void this.context.run(() => route.catch(() => undefined));
    this.router.abandon?.(route);
  }

  /** Returns the tenant whose destinations are looked up for a message; `''` if none. */
  ownerOf(message: AnalyticsMessage, tenant?: string): string {
    return this.router.ownerOf?.(message, tenant) ?? '';
  }

  /** Counts a message that a source has taken. @param route if it is known */
  taken(source: string, message: AnalyticsMessage, route?: Route, tenant?: string): void {
    debug('taken %s %s from %s', message.type, message.messageId, source);
    this.usages.count(source, route);
    this.telemetry?.taken(source, tenant);
  }

  /** Logs that no destination takes a message. */
  dropped(messageId: string): void {
    debug('dropped %s: no destination takes it', messageId);
  }

  usageOf(source: string): SourceUsage {
    return this.usages.of(source);
  }

  private serialized(
    message: AnalyticsMessage,
    filter: ReturnType<typeof eventFilterOf>,
    { tenant, maxBytes, spareContext }: OutgoingTerms,
  ): SerializedMessage {
    const { body = webhookBody } = this.options;
    const serialized = (): SerializedMessage => serialize(body(withFilter(message, filter)), maxBytes);
    const ownerOf = (): unknown => tenant ?? this.router.ownerOf?.(message, undefined);
    return serializedWithin(message, spareContext, serialized, ownerOf);
  }
}

/** @throws InvalidMessageError for what JSON cannot hold */
function bytesOfIntegrations({ integrations }: AnalyticsMessage): number {
  return Object.keys(integrations).length === 0 ? 0 : Buffer.byteLength(stringify({ integrations }));
}

import debugFactory from 'debug';
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
  /** By the name of the source: which events are kept from which destinations. */
  schemas?: ReadonlyMap<string, SourceFilter>;
  /** How a message is serialised for the destinations. @default as a webhook's body */
  body?: (message: AnalyticsMessage) => JsonObject;
}

/** A message as it goes to the queue, and where it goes. */
export interface OutgoingMessage extends SerializedMessage {
  /** Whose event it is; `undefined` for nobody's, or for a name that no tenant can have. */
  tenant: string | undefined;
  /** What its `integrations` take where they are kept with it: bytes of their JSON in UTF-8, else 0. */
  integrationsBytes: number;
  route: Route | Promise<Route>;
}

export interface OutgoingTerms {
  /** Whose event it is, where the call or the source has said so. */
  tenant?: string | undefined;
  /** Limit of the serialised message, in bytes. @default 32,768 */
  maxBytes?: number | undefined;
  /** What is left out of its context where there is no room for it. */
  spareContext?: JsonObject | undefined;
  /** Whether another program has sent it, which may have put anything into its `integrations`. */
  isReceived?: boolean | undefined;
  /** Whether it is stored as a whole before it goes to the queue. */
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

  /** A message as it goes to the queue, without `spareContext` if need be. @throws InvalidMessageError, MessageTooLargeError */
  of(source: string, message: AnalyticsMessage, terms: OutgoingTerms = {}): OutgoingMessage {
    const { maxBytes, spareContext, isReceived, isStored } = terms;
    const { body = webhookBody, schemas } = this.options;
    const filter = eventFilterOf(message, schemas?.get(source));
    const serialized = (): SerializedMessage => serialize(body(withFilter(message, filter)), maxBytes);
    const ownerOf = (): unknown => terms.tenant ?? this.router.ownerOf?.(message, undefined);
    const { json, bytes } = serializedWithin(message, spareContext, serialized, ownerOf);
    // Before anything is looked up: nobody would wait for the answer if this throws.
    const integrationsBytes = isReceived === true || isStored === true ? bytesOfIntegrations(message) : 0;
    // Found once, since the application may have a function of its own for it.
    const tenant = terms.tenant ?? this.router.ownerOf?.(message, undefined);
    const route = this.router.route(source, message, filter, tenant, isReceived);
    return { json, bytes, integrationsBytes, tenant: isTenantName(tenant) ? tenant : undefined, route };
  }

  /** Whether destinations can be looked up now. Never rejects; while their database stands still, it waits for it. */
  async canLookUp(): Promise<boolean> {
    // What the application makes at its start takes as long as it takes.
    if (!this.router.isReady) return false;
    try {
      await this.router.checkLookups?.();
      return true;
    } catch {
      return false;
    }
  }

  /** Where a message would go. */
  routeOf(source: string, message: AnalyticsMessage, tenant?: string): Route | Promise<Route> {
    return this.router.route(
      source,
      message,
      eventFilterOf(message, this.options.schemas?.get(source)),
      tenant,
    );
  }

  /** Whether messages that differ in other fields may have other destinations. */
  variesByMessage(source: string, message: AnalyticsMessage, tenant?: string): boolean {
    return this.router.variesByMessage?.(source, message, tenant) === true;
  }

  /** Where a message goes of what the options name; `undefined` while that is not known. */
  configured(source: string, message: AnalyticsMessage): readonly SourceConnection[] | undefined {
    const filter = eventFilterOf(message, this.options.schemas?.get(source));
    return this.router.configured?.(source, message, filter);
  }

  /** Nobody waits for a route any longer, whatever becomes of it. */
  abandon(route: Promise<Route>): void {
    void this.context.run(() => route.catch(() => undefined));
    this.router.abandon?.(route);
  }

  /** The tenant whose destinations a message waits for while they are looked up; `''` for those of nobody. */
  ownerOf(message: AnalyticsMessage, tenant?: string): string {
    return this.router.ownerOf?.(message, tenant) ?? '';
  }

  /** A source has taken a message. @param route where it is known */
  taken(source: string, message: AnalyticsMessage, route?: Route, tenant?: string): void {
    debug('taken %s %s from %s', message.type, message.messageId, source);
    this.usages.count(source, route);
    this.telemetry?.taken(source, tenant);
  }

  /** No destination takes a message. */
  dropped(messageId: string): void {
    debug('dropped %s: no destination takes it', messageId);
  }

  /** What a source has taken since the start. */
  usageOf(source: string): SourceUsage {
    return this.usages.of(source);
  }
}

/** @throws InvalidMessageError for what JSON cannot hold */
function bytesOfIntegrations({ integrations }: AnalyticsMessage): number {
  return Object.keys(integrations).length === 0 ? 0 : Buffer.byteLength(stringify({ integrations }));
}

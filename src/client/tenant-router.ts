import { isPromise } from 'node:util/types';
import { isEnabledFor } from '../destinations/destination-selection.js';
import type { DestinationDirectory } from '../stored-destinations/destination-directory.js';
import { EventSelection } from '../stored-destinations/event-selection.js';
import { OwnContext } from '../shared/own-context.js';
import type { AnalyticsMessage, Integrations } from '../messages/message.types.js';
import type { EventFilter } from '../messages/source-filter.js';
import { isDestinationId } from '../options/destination-id.js';
import type { DestinationRecord } from '../options/destination-store.js';
import { MessageOwner, type MessageOwnerOptions } from './message-owner.js';
import {
  isMeantFor,
  passes,
  type RoutedFields,
  type Route,
  type Router,
  type SourceConnection,
} from './router.js';

export interface TenantRouterOptions extends MessageOwnerOptions {
  /** Names of the sources whose messages are delivered. */
  sources: readonly string[];
  /** Ids of the destinations in the options, which no other destination may have. */
  configured: Iterable<string>;
  /** Whether `tenantOf` is the application's own function, which may look at any field. */
  isOwnTenantOf?: boolean;
  /** Called with an id that no message may go to, once for each list of destinations that it is in. */
  onWrongId?: (id: unknown) => void;
  /** The name that `integrations` uses for destinations. */
  destinationName: string;
  /** Milliseconds that a batch is kept after it failed for good. */
  failedRetention: number;
}

type Records = readonly DestinationRecord[];

/** A destination that was added at run time, prepared for messages to come. */
interface Prepared {
  readonly id: string;
  readonly tenant: string | undefined;
  readonly selection: EventSelection;
  /** Connections by source. */
  readonly connections: Map<string, SourceConnection>;
}

const NONE: Records = [];

/**
 * Routes a message to the destinations in the options, to those of its tenant, and to those added at run time that have
 * no tenant. Answers at once while these are known.
 */
export class TenantRouter implements Router {
  readonly forwards = false;
  readonly isReady = true;
  private readonly sources: ReadonlySet<string>;
  private readonly taken: ReadonlySet<string>;
  private readonly owner: MessageOwner;
  /** By the list that the directory returned, which is the same list until something changes. */
  private readonly prepared = new WeakMap<Records, readonly Prepared[]>();
  /** The look-ups that a route waits for. */
  private readonly awaited = new WeakMap<Promise<Route>, readonly Promise<Records>[]>();
  private readonly context = new OwnContext();

  constructor(
    private readonly fixed: { route(...message: Parameters<Router['route']>): Route },
    private readonly directory: Pick<
      DestinationDirectory,
      'isFresh' | 'remembered' | 'ofTenant' | 'check' | 'abandon'
    >,
    private readonly options: TenantRouterOptions,
  ) {
    this.sources = new Set(options.sources);
    this.taken = new Set(options.configured);
    this.owner = new MessageOwner(options);
  }

  leads(source: string): boolean {
    return this.sources.has(source);
  }

  ownerOf(message: AnalyticsMessage, tenant: string | undefined): string | undefined {
    return this.owner.of(message, tenant);
  }

  route(
    source: string,
    message: AnalyticsMessage,
    filter: EventFilter | undefined,
    tenant?: string,
    isReceived = false,
  ): Route | Promise<Route> {
    const fixed = this.fixed.route(source, message, filter, tenant, isReceived);
    if (!this.sources.has(source)) return fixed;
    const owner = this.owner.find(message, tenant);
    if (typeof owner !== 'string') return Promise.reject(owner);
    // Most messages end here, since most tenants have no destinations. One look at the clock is enough for both lists.
    if (this.directory.isFresh) {
      const shared = this.directory.remembered('');
      const own = owner === '' ? NONE : this.directory.remembered(owner);
      if (shared !== undefined && own !== undefined) {
        if (shared.length === 0 && own.length === 0) return fixed;
        return this.joined(fixed, [shared, own], source, message, filter);
      }
    }
    // A sender over HTTP may name any number of tenants, so each source takes turns with other sources and with calls.
    const asker = isReceived ? source : '';
    const fields = routedFields(message);
    return this.context.run(() => this.lookedUp(fixed, owner, asker, source, fields, filter));
  }

  variesByMessage(source: string, { integrations }: AnalyticsMessage, tenant: string | undefined): boolean {
    if (this.options.isOwnTenantOf !== true || tenant !== undefined || !this.sources.has(source))
      return false;
    // Any key may be the id of a destination.
    const flags = Object.values(integrations);
    return isEnabledFor(integrations, this.options.destinationName) || flags.some((flag) => flag !== false);
  }

  configured(...message: Parameters<NonNullable<Router['configured']>>): readonly SourceConnection[] {
    return this.fixed.route(...message).connections;
  }

  checkLookups(): Promise<void> {
    return this.context.run(() => this.directory.check());
  }

  abandon(route: Promise<Route>): void {
    for (const lookup of this.awaited.get(route) ?? []) this.directory.abandon(lookup);
  }

  private lookedUp(
    fixed: Route,
    owner: string,
    asker: string,
    source: string,
    message: RoutedFields,
    filter: EventFilter | undefined,
  ): Route | Promise<Route> {
    const shared = this.directory.ofTenant(undefined, asker);
    const own = owner === '' ? NONE : this.directory.ofTenant(owner, asker);
    if (!isPromise(shared) && !isPromise(own)) {
      return this.joined(fixed, [shared, own], source, message, filter);
    }
    const route = this.routeLater(fixed, [shared, own], source, message, filter);
    this.awaited.set(
      route,
      [shared, own].flatMap((one) => (isPromise(one) ? [one] : [])),
    );
    return route;
  }

  private async routeLater(
    fixed: Route,
    [shared, own]: readonly [Records | Promise<Records>, Records | Promise<Records>],
    source: string,
    message: RoutedFields,
    filter: EventFilter | undefined,
  ): Promise<Route> {
    const found = await Promise.all([Promise.resolve(shared), Promise.resolve(own)]);
    return this.joined(fixed, found, source, message, filter);
  }

  private joined(
    fixed: Route,
    lists: readonly Records[],
    source: string,
    message: RoutedFields,
    filter: EventFilter | undefined,
  ): Route {
    let joined: SourceConnection[] | undefined;
    let isFiltered = fixed.isFiltered;
    for (const records of lists) {
      for (const destination of this.prepare(records)) {
        if (!destination.selection.takes(source, message)) continue;
        const connection = this.connectionOf(destination, source);
        if (!isMeantFor(connection, message)) continue;
        if (filter !== undefined && !passes(connection, filter)) isFiltered = true;
        else (joined ??= [...fixed.connections]).push(connection);
      }
    }
    if (joined !== undefined) return { connections: joined, isFiltered: false };
    return isFiltered && fixed.connections.length === 0 ? { connections: [], isFiltered } : fixed;
  }

  private prepare(records: Records): readonly Prepared[] {
    let prepared = this.prepared.get(records);
    if (prepared === undefined) {
      prepared = records
        .filter(({ id, enabled = true }) => enabled && this.isUsable(id))
        .map((record) => ({
          id: record.id,
          tenant: record.tenant,
          selection: new EventSelection(record),
          connections: new Map<string, SourceConnection>(),
        }));
      this.prepared.set(records, prepared);
    }
    return prepared;
  }

  /**
   * Whether messages may go to the destination with this id, which comes from the application's own store. The queue
   * would refuse a whole job for a wrong one, with the messages of other destinations in it.
   */
  private isUsable(id: unknown): boolean {
    if (isDestinationId(id) && !this.taken.has(id)) return true;
    this.options.onWrongId?.(id);
    return false;
  }

  private connectionOf({ id, tenant, connections }: Prepared, source: string): SourceConnection {
    let connection = connections.get(source);
    if (connection === undefined) {
      const { destinationName, failedRetention } = this.options;
      const terms = { destinationName, failedRetention, wasAddedAtRunTime: true };
      const own = tenant === undefined ? {} : { tenant };
      connections.set(source, (connection = { source, destination: id, ...terms, ...own }));
    }
    return connection;
  }
}

/** Returns the fields that are needed during a look-up. The whole message takes far more memory than its body. */
function routedFields(message: AnalyticsMessage): RoutedFields {
  const { type, integrations } = message;
  // Options of a destination count as `true`.
  const flags = Object.entries(integrations).map(([key, value]) => [
    key,
    typeof value === 'object' ? true : value,
  ]);
  return {
    type,
    event: type === 'track' ? message.event : undefined,
    integrations: Object.fromEntries(flags) as Integrations,
  };
}

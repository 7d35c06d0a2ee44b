import { isPromise } from 'node:util/types';
import { DestinationKeys, isEnabledFor, isNamedIn } from '../destinations/destination-selection.js';
import type { AnalyticsMessage } from '../messages/message.types.js';
import type { EventFilter } from '../messages/source-filter.js';
import type { MessageOwner } from './message-owner.js';

/**
 * Connects a source to one destination. Only messages of the same connection share batches. A router returns the same
 * object each time, since the object identifies its batches.
 */
export interface SourceConnection {
  /** Name of the source. */
  readonly source: string;
  /** The destination's id. */
  readonly destination: string;
  /** The name that `integrations` uses for the destination; `undefined` if another program selects destinations. */
  readonly destinationName: string | undefined;
  /** Milliseconds that a batch of this connection is kept after it failed for good. */
  readonly failedRetention: number;
  /** Whether the destination was added at run time, so that there may be thousands of its kind. @default false */
  readonly wasAddedAtRunTime?: boolean;
  /** Tenant that the destination belongs to. @default nobody's */
  readonly tenant?: string;
}

/** The fields of a message that select its destinations. */
export interface RoutedFields extends Pick<AnalyticsMessage, 'type' | 'integrations'> {
  /** Name of the event of a `track` call. */
  readonly event?: string | undefined;
}

/** The route of a message. */
export interface Route {
  /** Empty if no destination takes the message. */
  readonly connections: readonly SourceConnection[];
  /** Whether the schema of the source is the only reason why no destination takes the message. */
  readonly isFiltered: boolean;
}

/**
 * Finds the connections of a message. A call never waits for a route: if the route is a promise, the message is held
 * back.
 */
export interface Router {
  /** Whether messages go on to another program's API rather than to destinations of this one. */
  readonly forwards: boolean;
  /** Whether the application has made its destinations. Until then all messages are held back. */
  readonly isReady: boolean;
  /** Whether messages of a source may reach any destination. */
  leads(source: string): boolean;
  /** Returns the tenant whose destinations are looked up for a message. @default nobody's */
  ownerOf?(message: AnalyticsMessage, tenant: string | undefined): string | undefined;
  /**
   * @param filter the rule of the source's schema for the message
   * @param tenant tenant of the event, if the call or the source names one
   * @param isReceived whether another program sent the message
   */
  route(
    source: string,
    message: AnalyticsMessage,
    filter: EventFilter | undefined,
    tenant?: string,
    isReceived?: boolean,
  ): Route | Promise<Route>;
  /** Whether messages with the same `integrations` may have different destinations. @default no */
  variesByMessage?(source: string, message: AnalyticsMessage, tenant: string | undefined): boolean;
  /** Returns a message's connections to destinations in the options; `undefined` while unknown. */
  configured?(
    source: string,
    message: AnalyticsMessage,
    filter: EventFilter | undefined,
  ): readonly SourceConnection[] | undefined;
  /** Resolves when the database in which routes are looked up answers. Rejects while it is away. @default at once */
  checkLookups?(): Promise<void>;
  /** Abandons a route that nobody waits for any longer. @param route as `route` returned it */
  abandon?(route: Promise<Route>): void;
}

const NOWHERE: Route = { connections: [], isFiltered: false };

export interface StaticRouterOptions {
  connections: readonly SourceConnection[];
  /** All destinations that `integrations` may name, including those that a source is not connected to. */
  destinations?: readonly { readonly name: string; readonly id: string }[];
  /** Called for a key of `integrations` that matches no destination, with the key that was probably meant. */
  onUnknownKey?: (key: string, similar: string | undefined, isReceived: boolean) => void;
}

/** Routes to the destinations that the options name. */
export class StaticRouter implements Router {
  readonly isReady = true;
  readonly forwards: boolean;
  /** All connections of each source: nearly every message goes to all of them. */
  private readonly routes = new Map<string, Route>();
  private readonly keys: DestinationKeys | undefined;
  private readonly onUnknownKey: StaticRouterOptions['onUnknownKey'];

  constructor({ connections, destinations, onUnknownKey }: StaticRouterOptions) {
    this.forwards = connections.some(({ destinationName }) => destinationName === undefined);
    for (const one of connections) {
      const others = this.routes.get(one.source)?.connections ?? [];
      this.routes.set(one.source, { connections: [...others, one], isFiltered: false });
    }
    // When messages are forwarded, only the other program knows the destinations.
    if (destinations !== undefined && !this.forwards) this.keys = new DestinationKeys(destinations);
    this.onUnknownKey = onUnknownKey;
  }

  leads(source: string): boolean {
    return this.routes.has(source);
  }

  route(
    source: string,
    message: AnalyticsMessage,
    filter: EventFilter | undefined,
    _tenant?: string,
    isReceived = false,
  ): Route {
    const all = this.routes.get(source);
    if (all === undefined) return NOWHERE;
    const keys = Object.keys(message.integrations);
    if (keys.length === 0 && filter === undefined && !this.forwards) return all;
    this.lookAt(keys, isReceived);
    const meant = narrowed(all, (connection) => isMeantFor(connection, message));
    if (filter === undefined) return meant;
    const left = narrowed(meant, (connection) => passes(connection, filter));
    const isFiltered = left.connections.length === 0 && meant.connections.length > 0;
    return isFiltered ? { connections: [], isFiltered } : left;
  }

  configured(...message: Parameters<StaticRouter['route']>): readonly SourceConnection[] {
    return this.route(...message).connections;
  }

  private lookAt(keys: readonly string[], isReceived: boolean): void {
    for (const key of keys) {
      if (this.keys?.has(key) === false) this.onUnknownKey?.(key, this.keys.similarTo(key), isReceived);
    }
  }
}

/**
 * Stands in for a router that is created once the application's providers exist. Until then, messages are held back.
 */
export class LateRouter implements Router {
  readonly forwards = false;
  private router: Router | undefined;
  /** Routes of the real router, by those that this one has returned. */
  private readonly routes = new WeakMap<Promise<Route>, Promise<Route>>();
  private resolve: (router: Router) => void = () => undefined;
  private readonly made = new Promise<Router>((resolve) => {
    this.resolve = resolve;
  });

  /** @param owner finds tenants as the router will, since a deletion looks for the tenant of a message */
  constructor(private readonly owner?: Pick<MessageOwner, 'of'>) {}

  use(router: Router): void {
    this.router = router;
    this.resolve(router);
  }

  get isReady(): boolean {
    return this.router !== undefined;
  }

  leads(source: string): boolean {
    return this.router?.leads(source) ?? true;
  }

  ownerOf(message: AnalyticsMessage, tenant: string | undefined): string | undefined {
    return this.owner?.of(message, tenant);
  }

  route(...message: Parameters<Router['route']>): Route | Promise<Route> {
    if (this.router !== undefined) return this.router.route(...message);
    const late = this.made.then((router) => {
      const route = router.route(...message);
      if (isPromise(route)) this.routes.set(late, route);
      return route;
    });
    return late;
  }

  variesByMessage(...message: Parameters<NonNullable<Router['variesByMessage']>>): boolean {
    return this.router?.variesByMessage?.(...message) === true;
  }

  configured(
    ...message: Parameters<NonNullable<Router['configured']>>
  ): readonly SourceConnection[] | undefined {
    return this.router?.configured?.(...message);
  }

  async checkLookups(): Promise<void> {
    await this.router?.checkLookups?.();
  }

  abandon(route: Promise<Route>): void {
    this.router?.abandon?.(this.routes.get(route) ?? route);
  }
}

/** Returns a route with only some connections. Nearly always it keeps them all, so that no new list is made. */
function narrowed(route: Route, keeps: (connection: SourceConnection) => boolean): Route {
  const { connections } = route;
  return connections.every(keeps) ? route : { connections: connections.filter(keeps), isFiltered: false };
}

/**
 * Whether a message's `integrations` allow a connection. When messages are forwarded, the other program selects the
 * destinations itself, and takes no deletions.
 */
export function isMeantFor(
  { destination, destinationName }: SourceConnection,
  { type, integrations }: RoutedFields,
): boolean {
  if (destinationName === undefined) return type !== 'delete';
  return isEnabledFor(integrations, destinationName, destination);
}

/** Whether the rule of a source's schema lets a message pass. */
export function passes({ destination, destinationName }: SourceConnection, filter: EventFilter): boolean {
  if (filter === false) return false;
  return destinationName === undefined || !isNamedIn(filter, destinationName, destination);
}

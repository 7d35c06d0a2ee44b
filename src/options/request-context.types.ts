import type { ExecutionContext } from '@nestjs/common';

/**
 * What a request has that messages are interested in, be it Express's or Fastify's, or a WebSocket's
 * handshake. An application may declare by declaration merging what else its requests have, such as
 * the `user` of its guards.
 */
export interface AnalyticsRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The client's address as the framework knows it, its trusted proxies considered. */
  readonly ip?: string | undefined;
  readonly protocol?: string | undefined;
  /** Host and port. */
  readonly host?: string | undefined;
  /** Path and query. */
  readonly originalUrl?: string | undefined;
}

/** The request that is being handled. */
export interface RequestContext {
  /** `http`, `graphql`, `rpc` or `ws`. */
  readonly type: string;
  /** Nest's own view of it: `host.switchToRpc().getData()` and so on. */
  readonly host: ExecutionContext;
  /**
   * The HTTP request, that of a GraphQL operation included, or the handshake of a WebSocket;
   * `undefined` where there is none.
   */
  readonly request: AnalyticsRequest | undefined;
}

/** Who a message is about. */
export interface Identity {
  userId?: string | null | undefined;
  anonymousId?: string | null | undefined;
}

/** Tells who a request comes from. Synchronous; asked when a message is recorded, after the guards. */
export type IdentityResolver = (context: RequestContext) => Identity | undefined;

/**
 * Where the context of the request is known: within decorated handlers and all that they call, in every
 * handler, or nowhere.
 */
export type RequestContextMode = 'decorated' | 'all' | false;

import type { ExecutionContext } from '@nestjs/common';

/**
 * The part of a request that goes into messages, for Express, Fastify and WebSocket handshakes. An application may
 * use declaration merging to add properties of its requests, such as the `user` that its guards set.
 */
export interface AnalyticsRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The client's address as the framework knows it, with trusted proxies considered. */
  readonly ip?: string | undefined;
  readonly protocol?: string | undefined;
  /** Host and port. */
  readonly host?: string | undefined;
  /** Path and query. */
  readonly originalUrl?: string | undefined;
}

/** The current request. */
export interface RequestContext {
  /** `http`, `graphql`, `rpc` or `ws`. */
  readonly type: string;
  /** Nest's own view of the request: `host.switchToRpc().getData()` and so on. */
  readonly host: ExecutionContext;
  /**
   * The HTTP request (also for a GraphQL operation), or the handshake of a WebSocket; `undefined` if there is
   * none.
   */
  readonly request: AnalyticsRequest | undefined;
}

/** The user of a message. */
export interface Identity {
  userId?: string | null | undefined;
  anonymousId?: string | null | undefined;
}

/**
 * Identifies the user of a request. Synchronous; called when a message is recorded, after the guards. A key that the
 * result leaves out gets its default (see `defaultIdentity`). If the resolver returns `undefined`, the request has no
 * identity.
 */
export type IdentityResolver = (context: RequestContext) => Identity | undefined;

/**
 * Where messages carry the context of the request: in decorated handlers and everything they call, in every
 * handler, or nowhere.
 */
export type RequestContextMode = 'decorated' | 'all' | false;

import type { Identity, RequestContext } from './request-context.types.js';
import { propertyOf } from './request-source.js';

/** Set by analytics libraries in browsers. */
const ANONYMOUS_ID_COOKIE = 'ajs_anonymous_id';
const ANONYMOUS_ID_HEADER = 'x-anonymous-id';

/**
 * The identity where the application does not say otherwise: `id` or `sub` of the `user` that a guard has
 * put on the request (on the client or its `data`, of a WebSocket), and an anonymous id from the header
 * `x-anonymous-id` or the cookie `ajs_anonymous_id`.
 */
export function defaultIdentity({ type, host, request }: RequestContext): Identity {
  const client: unknown = type === 'ws' ? host.switchToWs().getClient() : undefined;
  const user =
    propertyOf(request, 'user') ??
    propertyOf(client, 'user') ??
    propertyOf(propertyOf(client, 'data'), 'user');
  return {
    userId: idOf(propertyOf(user, 'id')) ?? idOf(propertyOf(user, 'sub')),
    anonymousId: idOf(request?.headers[ANONYMOUS_ID_HEADER]) ?? cookieOf(request?.headers.cookie),
  };
}

/** Databases number their rows; ids in messages are text. */
function idOf(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function cookieOf(header: string | string[] | undefined): string | undefined {
  if (typeof header !== 'string') return undefined;
  const prefix = `${ANONYMOUS_ID_COOKIE}=`;
  const cookie = header
    .split(';')
    .map((pair) => pair.trim())
    .find((pair) => pair.startsWith(prefix));
  return cookie === undefined ? undefined : idOf(unquote(decode(cookie.slice(prefix.length))));
}

/** A stranger's cookie may be anything; what is not encoded well is taken as it stands. */
function decode(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

/** Older libraries in browsers write their ids as JSON. */
function unquote(value: string): string {
  return /^"(.*)"$/.exec(value)?.[1] ?? value;
}

import { types } from 'node:util';
import { InvalidMessageError } from '../../errors/message.errors.js';
import type { Identity, IdentityResolver, RequestContext } from '../../options/request-context.types.js';
import { propertyOf } from './request-source.js';

/** Set by analytics libraries in browsers. */
const ANONYMOUS_ID_COOKIE = 'ajs_anonymous_id';
const ANONYMOUS_ID_HEADER = 'x-anonymous-id';

/** Longest anonymous id that is taken from a request, in characters: anybody can send one. */
const MAX_ANONYMOUS_ID = 255;

/** The fields that may hold the id of a request's `user`. The first one present counts. */
const USER_IDS = ['id', 'userId', 'sub'];

/**
 * Returns the identity that applies unless the option `identity` decides: `id`, `userId` or `sub` of the `user` that a
 * guard has put on the request (for a WebSocket, on the client or its `data`), and an anonymous id from the header
 * `x-anonymous-id` or the cookie `ajs_anonymous_id`.
 */
export function defaultIdentity({ type, host, request }: RequestContext): Identity {
  const client: unknown = type === 'ws' ? host.switchToWs().getClient() : undefined;
  const user =
    propertyOf(request, 'user') ??
    propertyOf(client, 'user') ??
    propertyOf(propertyOf(client, 'data'), 'user');
  return {
    userId: USER_IDS.map((name) => idOf(propertyOf(user, name))).find((id) => id !== undefined),
    anonymousId: shortId(request?.headers[ANONYMOUS_ID_HEADER]) ?? cookieOf(request?.headers.cookie),
  };
}

/**
 * Merges the application's identity over the default one. A key that the application returns counts, whatever
 * its value. A key that it leaves out keeps its default. If it returns `undefined`, the request has no
 * identity.
 */
export function identityOver(identity: IdentityResolver | undefined): IdentityResolver {
  if (identity === undefined) return defaultIdentity;
  return (context) => {
    const own = identity(context);
    if (types.isPromise(own)) throw asynchronous(own);
    return own && { ...defaultIdentity(context), ...own };
  };
}

function asynchronous(promise: Promise<unknown>): InvalidMessageError {
  // An unhandled rejection would end the process.
  promise.catch(() => undefined);
  return new InvalidMessageError(
    'identity',
    'Expected `identity` to return an object, got a promise: it must be synchronous',
  );
}

/** Returns an id as a string: databases number their rows, but ids in messages are strings. */
function idOf(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}

/** Returns an id, or `undefined` if it is longer than any library's: it could push messages over the size limit. */
function shortId(value: unknown): string | undefined {
  const id = idOf(value);
  return id !== undefined && id.length <= MAX_ANONYMOUS_ID ? id : undefined;
}

function cookieOf(header: string | string[] | undefined): string | undefined {
  if (typeof header !== 'string') return undefined;
  const prefix = `${ANONYMOUS_ID_COOKIE}=`;
  const cookie = header
    .split(';')
    .map((pair) => pair.trim())
    .find((pair) => pair.startsWith(prefix));
  return cookie === undefined ? undefined : shortId(unquote(decode(cookie.slice(prefix.length))));
}

/** A cookie comes from outside and may hold anything. An invalid encoding is used as it stands. */
function decode(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

/** Older browser libraries write their ids as JSON. */
function unquote(value: string): string {
  return /^"(.*)"$/.exec(value)?.[1] ?? value;
}

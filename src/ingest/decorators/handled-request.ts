import type { JsonObject } from '../messages/message.types.js';
import type { AnalyticsRequest } from './request-context.types.js';
import { propertyOf } from './request-source.js';

/**
 * Longest text that is taken from a request. What a stranger sends must not push a message over its size
 * limit and so make a call fail.
 */
const MAX_LENGTH = 1_024;

/** The address of the client. Told by the framework, or, of a WebSocket, by its handshake. */
export function addressOf(request: AnalyticsRequest): string | undefined {
  return (
    text(request.ip) ??
    text(propertyOf(request, 'address')) ??
    text(propertyOf(propertyOf(request, 'socket'), 'remoteAddress'))
  );
}

/** What a request tells for a message's context, its address aside; what is not known is left out. */
export function fieldsOf(request: AnalyticsRequest, withPage: boolean): JsonObject {
  return defined({
    userAgent: text(request.headers['user-agent']),
    locale: localeOf(request),
    page: withPage ? pageOf(request) : undefined,
  });
}

function pageOf(request: AnalyticsRequest): JsonObject {
  const referrer = text(request.headers.referer);
  const { originalUrl, host, protocol } = request;
  if (originalUrl === undefined) return defined({ referrer });
  const queryAt = originalUrl.indexOf('?');
  return defined({
    url: host && protocol ? text(`${protocol}://${host}${originalUrl}`) : undefined,
    path: text(queryAt < 0 ? originalUrl : originalUrl.slice(0, queryAt)),
    search: queryAt < 0 ? undefined : text(originalUrl.slice(queryAt)),
    referrer,
  });
}

/** The language that the client prefers: browsers name it first. */
function localeOf(request: AnalyticsRequest): string | undefined {
  const [preferred = ''] = (text(request.headers['accept-language']) ?? '').split(/[,;]/, 1);
  const locale = preferred.trim();
  return locale === '' || locale === '*' ? undefined : locale;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value.slice(0, MAX_LENGTH) : undefined;
}

function defined(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

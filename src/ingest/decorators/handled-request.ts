import type { ExecutionContext } from '@nestjs/common';
import { frameworkValue } from '../../shared/framework-value.js';
import type { JsonObject } from '../../messages/message.types.js';
import type { AnalyticsRequest, RequestContext } from '../../options/request-context.types.js';
import { propertyOf, requestOf } from './request-source.js';

/**
 * Longest text that is taken from a request, in bytes as JSON. Headers from outside must not push a message over its
 * size limit and make a call fail.
 */
const MAX_BYTES = 1_024;

/** A request that is being handled, with the fields that it adds to the context of messages. */
export class HandledRequest implements RequestContext {
  readonly type: string;
  readonly request: AnalyticsRequest | undefined;
  /** Address of the client. Read at once, since a closed socket no longer has it for later messages. */
  private readonly ip: string | undefined;
  private known: JsonObject | undefined;

  constructor(readonly host: ExecutionContext) {
    this.type = host.getType<string>();
    this.request = requestOf(host);
    const { request } = this;
    // If the framework's getter throws, there is no address: the socket's address may be that of a proxy.
    this.ip = request && frameworkValue(() => addressOf(request));
  }

  /** Fields that messages get under their own context. The first message reads them from the request. */
  get fields(): JsonObject {
    this.known ??= this.readFields();
    return this.known;
  }

  private readFields(): JsonObject {
    if (this.request === undefined) return {};
    // A WebSocket's handshake says nothing about the page that the user is on.
    const fields = fieldsOf(this.request, this.type !== 'ws');
    return this.ip === undefined ? fields : { ip: this.ip, ...fields };
  }
}

/** Returns the address of the client: from the framework, or, for a WebSocket, from its handshake. */
function addressOf(request: AnalyticsRequest): string | undefined {
  return (
    text(request.ip) ??
    text(propertyOf(request, 'address')) ??
    text(propertyOf(propertyOf(request, 'socket'), 'remoteAddress'))
  );
}

/** Returns the fields that a request adds to messages' context, except the address. Unknown values are left out. */
function fieldsOf(request: AnalyticsRequest, withPage: boolean): JsonObject {
  return defined({
    userAgent: text(request.headers['user-agent']),
    locale: localeOf(request),
    page: withPage ? pageOf(request) : undefined,
  });
}

function pageOf(request: AnalyticsRequest): JsonObject {
  const referrer = text(request.headers.referer);
  const { originalUrl } = request;
  if (originalUrl === undefined) return defined({ referrer });
  const queryAt = originalUrl.indexOf('?');
  return defined({
    url: text(frameworkValue(() => urlOf(request))),
    path: text(queryAt < 0 ? originalUrl : originalUrl.slice(0, queryAt)),
    search: queryAt < 0 ? undefined : text(originalUrl.slice(queryAt)),
    referrer,
  });
}

function urlOf({ protocol, host, originalUrl }: AnalyticsRequest): string | undefined {
  return host && protocol ? `${protocol}://${host}${originalUrl}` : undefined;
}

/** Returns the language that the client prefers: browsers send it first. */
function localeOf(request: AnalyticsRequest): string | undefined {
  const [preferred = ''] = (text(request.headers['accept-language']) ?? '').split(/[,;]/, 1);
  const locale = preferred.trim();
  return locale === '' || locale === '*' ? undefined : locale;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? cut(value) : undefined;
}

function cut(text: string): string {
  if (bytesAsJson(text) <= MAX_BYTES) return text;
  let bytes = 0;
  let length = 0;
  for (const character of text) {
    bytes += bytesAsJson(character);
    if (bytes > MAX_BYTES) break;
    length += character.length;
  }
  return text.slice(0, length);
}

/** Returns the bytes that a text takes inside JSON, where quotes, backslashes and control characters are escaped. */
function bytesAsJson(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - '""'.length;
}

function defined(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

import type { IncomingMessage } from 'node:http';

/**
 * The body of a request that a parser of the host has read: the bytes that it left on the request, or what they were parsed
 * to; no bytes if it left nothing. `undefined` if nobody has read it. Parsers come first where an Express application that
 * was made outside of Nest is served by another server than Nest's, as platforms for functions do.
 */
export function bodyReadBefore(request: IncomingMessage): unknown {
  if (!request.readableEnded) return undefined;
  const bodies = ['rawBody', 'body'].map((name): unknown => Reflect.get(request, name));
  const body = bodies.find((left) => left !== undefined && left !== null) ?? '';
  return typeof body === 'string' ? Buffer.from(body) : body;
}

import type { IncomingMessage } from 'node:http';

/**
 * Returns the body that a parser of the host has read: the bytes or the parsed value that it left on the request, or no
 * bytes if it left nothing; `undefined` if nobody has read the body. Parsers run first if an Express application made
 * outside of Nest is served by a server other than Nest's, as on platforms for functions.
 */
export function bodyReadBefore(request: IncomingMessage): unknown {
  if (!request.readableEnded) return undefined;
  const bodies = ['rawBody', 'body'].map((name): unknown => Reflect.get(request, name));
  const body = bodies.find((left) => left !== undefined && left !== null) ?? '';
  return typeof body === 'string' ? Buffer.from(body) : body;
}

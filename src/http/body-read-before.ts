import type { IncomingMessage } from 'node:http';
import { hasHungUp } from './connection-of.js';
import { RequestRefusal } from './request-refusal.js';

/**
 * Returns the body that a parser of the host has read: the bytes or the parsed value that it left on the request;
 * `undefined` if nobody has read the body, or if its sender has hung up. Parsers run first if an Express application made
 * outside of Nest is served by a server other than Nest's, as on platforms for functions.
 *
 * @throws {RequestRefusal} if nothing is left of a body: without its conditions, a replay would send everything again
 */
export function bodyReadBefore(request: IncomingMessage): unknown {
  if (!request.readableEnded) return undefined;
  const bodies = ['rawBody', 'body'].map((name): unknown => Reflect.get(request, name));
  const body = bodies.find((left) => left !== undefined && left !== null);
  if (body === undefined) {
    // Over HTTP/2, Node discards the body of a sender that hangs up, and the request then looks as if it had been read.
    if (hasHungUp(request)) return undefined;
    if (isAnnounced(request)) throw nothingLeft();
    return Buffer.alloc(0);
  }
  return typeof body === 'string' ? Buffer.from(body) : body;
}

function isAnnounced({ headers }: IncomingMessage): boolean {
  return Number(headers['content-length']) > 0 || headers['transfer-encoding'] !== undefined;
}

function nothingLeft(): RequestRefusal {
  return new RequestRefusal(
    400,
    'INVALID_BODY',
    'Something in this application has read the body, and left neither `rawBody` nor `body` on the request: let it ' +
      'leave one of them, or skip this path.',
  );
}

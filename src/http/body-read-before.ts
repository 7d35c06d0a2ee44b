import type { IncomingMessage } from 'node:http';
import type { JsonObject } from '../messages/message.types.js';
import { isJsonObject } from '../messages/value-kind.js';

/**
 * The body of a request that a parser of the host has read, and left on it: its bytes, or what they were parsed to.
 * `undefined` if nobody has. Parsers come first where an Express application that was made outside of Nest is
 * served by another server than Nest's, as platforms for functions do.
 */
export function bodyReadBefore(request: IncomingMessage): Buffer | JsonObject | undefined {
  if (!request.readableEnded) return undefined;
  for (const name of ['rawBody', 'body']) {
    const body: unknown = Reflect.get(request, name);
    if (Buffer.isBuffer(body)) return body;
    if (typeof body === 'string') return Buffer.from(body);
    if (isJsonObject(body)) return body;
  }
  return undefined;
}

import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

/**
 * Returns the connection that a request came over, or `undefined` on platforms for functions and with `inject` of
 * Fastify. There, despite the type, `socket` is an object of another kind, without a client that could hang up.
 */
export function connectionOf({ socket }: IncomingMessage): Socket | undefined {
  return socket instanceof Duplex ? socket : undefined;
}

/**
 * Returns the connection of a request over HTTP/1, where answers come in the order of the requests. Over HTTP/2, a
 * connection carries any number of requests at the same time, also to the host's routes.
 */
export function http1ConnectionOf(request: IncomingMessage): Socket | undefined {
  return request.httpVersionMajor === 1 ? connectionOf(request) : undefined;
}

/**
 * Whether the sender of a request is gone. `request.destroyed` does not show it: a request is also destroyed after it was
 * read, and over HTTP/2 not even when its sender hangs up.
 */
export function hasHungUp(request: IncomingMessage): boolean {
  return connectionOf(request)?.destroyed === true;
}

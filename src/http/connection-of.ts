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

import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Returns the connection that a request came over, or `undefined` on platforms for functions. There, despite the type,
 * `socket` is a plain object that emits no events and has no client that could hang up.
 */
export function connectionOf({ socket }: IncomingMessage): Socket | undefined {
  return socket instanceof EventEmitter ? socket : undefined;
}

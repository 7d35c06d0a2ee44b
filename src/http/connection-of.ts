import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/**
 * The connection that a request came over. `undefined` on platforms for functions: a plain object stands there in its
 * place, despite the type, which tells nothing and has nobody behind it who hangs up.
 */
export function connectionOf({ socket }: IncomingMessage): Socket | undefined {
  return socket instanceof EventEmitter ? socket : undefined;
}

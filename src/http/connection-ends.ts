import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { connectionOf } from './connection-of.js';

/**
 * Notifies requests when their connection ends. Each connection gets only one listener: a client may send any number of
 * requests over a connection before the first is answered, and Node warns of more than ten listeners.
 */
export class ConnectionEnds {
  private readonly waiting = new WeakMap<Socket, Set<() => void>>();

  /** Calls `end` when the connection of a request has ended. Returns a function that stops watching. */
  watch(request: IncomingMessage, end: () => void): () => void {
    const connection = connectionOf(request);
    if (connection === undefined) return () => undefined;
    if (connection.destroyed) end();
    const waiting = this.waitingAt(connection);
    waiting.add(end);
    return () => {
      waiting.delete(end);
    };
  }

  private waitingAt(connection: Socket): Set<() => void> {
    const known = this.waiting.get(connection);
    if (known !== undefined) return known;
    const waiting = new Set<() => void>();
    this.waiting.set(connection, waiting);
    connection.once('close', () => {
      for (const end of waiting) end();
    });
    return waiting;
  }
}

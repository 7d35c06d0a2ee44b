import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { http1ConnectionOf } from './connection-of.js';

// Kept for all handlers together, since a connection carries requests to each of them and to the host's routes.

/** Whether each noted request has come too late to be answered. */
const isLate = new WeakMap<IncomingMessage, boolean>();
/** The latest request of each connection that was in time. */
const latest = new WeakMap<Socket, IncomingMessage>();
/** Connections that close after an answer that has begun. */
const ending = new WeakSet<Socket>();

/**
 * Notes that a request has arrived. To be called for every request to the web server, also to the host's routes, in the
 * order in which they arrive: a client may send more over a connection before the first is answered, and Node does not
 * wait with them.
 */
export function noteRequest(request: IncomingMessage): void {
  const connection = http1ConnectionOf(request);
  if (connection === undefined || isLate.has(request)) return;
  isLate.set(request, ending.has(connection));
  if (!ending.has(connection)) latest.set(connection, request);
}

/**
 * Returns whether the connection of a request was already to be closed when it came. As HTTP demands, such a request has
 * no effect: its sender gets no answer, and may send it again.
 */
export function isTooLate(request: IncomingMessage): boolean {
  return isLate.get(request) === true;
}

/**
 * Closes the connection after an answer that is about to be written. If the next request has come already, it may have
 * taken effect, so the connection stays open for its answer.
 */
export function closeAfter(request: IncomingMessage, response: ServerResponse): void {
  if (response.headersSent) return;
  const isLast = !isFollowed(request);
  // The host's own header, such as Fastify's while it closes, takes precedence over the property.
  if (response.hasHeader('connection')) {
    if (isLast) response.setHeader('connection', 'close');
    else response.removeHeader('connection');
  }
  if (!isLast) return;
  response.shouldKeepAlive = false;
  markEnding(request);
}

/** Closes the connection of an answered request, unless the next one has come already. */
export function closeNow(request: IncomingMessage): void {
  if (isFollowed(request)) return;
  markEnding(request);
  http1ConnectionOf(request)?.destroySoon();
}

function isFollowed(request: IncomingMessage): boolean {
  const connection = http1ConnectionOf(request);
  return connection !== undefined && (latest.get(connection) ?? request) !== request;
}

function markEnding(request: IncomingMessage): void {
  const connection = http1ConnectionOf(request);
  if (connection !== undefined) ending.add(connection);
}

import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { hasHungUp } from './connection-of.js';
import { closeAfter } from './request-order.js';

/**
 * How long the rest of a refused body is read and discarded, in milliseconds, so that its sender gets to read
 * the answer.
 */
const DRAIN_TIME = 2_000;

/** How long the reader of a stream may leave written data unread, in milliseconds. */
const STALL_TIME = 30_000;
/** How long a reader may take to read the rest of a stream that has ended, in milliseconds. */
const END_TIME = 2_000;

/** An answer to a request. */
export interface HttpAnswer {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: string;
  /** Whether the connection closes even if little of the request's body is still to come. @default false */
  closes?: boolean;
}

/** An answer that is written part by part, until it is complete or nobody reads it any more. */
export interface StreamedAnswer extends Omit<HttpAnswer, 'body' | 'closes'> {
  /**
   * Returns the parts, which are written one after the other, each when the reader has room for it. Called once. Must
   * not throw.
   *
   * @param ended aborted when the reader has gone, or the application shuts down
   */
  parts: (ended: AbortSignal) => AsyncIterable<string>;
}

/** Returns the `Retry-After` header for a delay in milliseconds, or no header if the delay is `undefined`. */
export function retryAfterHeader(retryAfter: number | undefined): Record<string, string> {
  return retryAfter === undefined ? {} : { 'retry-after': String(Math.ceil(retryAfter / 1000)) };
}

/**
 * Writes an answer. The connection closes if the answer says so, after a 408 or a 413, or if too much of the body is
 * still to come. First, the rest is read and discarded, for up to two seconds: if the connection closed at once, the
 * reset could discard the answer for a sender that is still sending, and the sender would try again.
 *
 * @param maxBytes size of the largest body that is accepted
 */
export function writeAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body, closes: closesAnyway = false }: HttpAnswer,
  maxBytes: number,
): void {
  if (response.headersSent || response.destroyed) return;
  removeHostHeaders(response);
  const closes = closesAnyway || status === 408 || status === 413 || !isRestSmall(request, maxBytes);
  if (closes) closeAfter(request, response);
  const length = status === 204 ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  response.writeHead(status, { ...headers, ...length });
  if (closes && !request.complete) {
    endAfterBody(request, response, body);
  } else {
    request.resume();
    response.end(body);
  }
}

/**
 * Writes an answer part by part, and then closes the connection.
 *
 * @param closing aborted when the application shuts down
 */
export async function writeStream(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, parts }: StreamedAnswer,
  closing: AbortSignal,
): Promise<void> {
  const ended = new AbortController();
  // A response over HTTP/2 does not show whether it was destroyed.
  const isGone = response.destroyed || hasHungUp(request);
  const isWritable = !isGone && !response.headersSent;
  if (isWritable) {
    request.resume();
    removeHostHeaders(response);
    closeAfter(request, response);
    response.writeHead(status, headers).flushHeaders();
  } else {
    ended.abort();
  }
  // The parts may be waiting for a database that is unavailable. The reader must not wait with them.
  const end = (): void => {
    ended.abort();
    response.end();
    // A reader that reads nothing would keep the server from closing.
    if (!response.destroyed) setTimeout(() => response.destroy(), END_TIME).unref();
  };
  response.once('close', end);
  closing.addEventListener('abort', end);
  if (isWritable && closing.aborted) end();
  // Iterates even if nobody reads, so that the parts can end what they began.
  try {
    for await (const part of parts(ended.signal)) {
      if (!ended.signal.aborted && !response.write(part)) await drained(response, ended.signal, end);
    }
  } finally {
    closing.removeEventListener('abort', end);
  }
  if (isWritable) end();
}

/**
 * Resolves when the reader has room for more or has gone. A reader that reads nothing for 30 seconds counts as gone.
 *
 * @param end ends the stream: an answer that waits for an earlier one on the same connection emits no `close`
 */
async function drained(response: ServerResponse, signal: AbortSignal, end: () => void): Promise<void> {
  const timer = setTimeout(() => {
    response.destroy();
    end();
  }, STALL_TIME).unref();
  // `once` rejects only when the signal is aborted.
  await once(response, 'drain', { signal }).catch(() => undefined);
  clearTimeout(timer);
}

/** Removes the CORS headers that the host's own hooks may have set for its routes. */
function removeHostHeaders(response: ServerResponse): void {
  for (const name of response.getHeaderNames()) {
    if (name.startsWith('access-control-')) response.removeHeader(name);
  }
}

/** Whether the rest of a body is known to be within the limit. */
function isRestSmall({ complete, headers }: IncomingMessage, maxBytes: number): boolean {
  return complete || Number(headers['content-length']) <= maxBytes;
}

function endAfterBody(request: IncomingMessage, response: ServerResponse, body: string): void {
  const end = (): void => {
    clearTimeout(timer);
    response.end();
  };
  const timer = setTimeout(end, DRAIN_TIME).unref();
  request.once('end', end).once('close', end).resume();
  response.write(body);
}

import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * How long the rest of a refused body is read and discarded, in milliseconds, so that its sender gets to read
 * the answer.
 */
const DRAIN_TIME = 2_000;

/** An answer to a request. */
export interface HttpAnswer {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** The header that says when to send a request again; none without a time, in milliseconds. */
export function retryAfterHeader(retryAfter: number | undefined): Record<string, string> {
  return retryAfter === undefined ? {} : { 'retry-after': String(Math.ceil(retryAfter / 1000)) };
}

/**
 * Writes an answer. After a 408 or a 413, or if too much of the body is still to come, the connection closes:
 * first the rest is read and discarded, for up to two seconds. If it closed at once, the reset could discard
 * the answer for a sender that is still sending, and it would try again.
 *
 * @param maxBytes the largest body that is taken
 */
export function writeAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: HttpAnswer,
  maxBytes: number,
): void {
  if (response.headersSent || response.destroyed) return;
  // The host's own hooks may have set these for its routes.
  for (const name of response.getHeaderNames()) {
    if (name.startsWith('access-control-')) response.removeHeader(name);
  }
  const closes = status === 408 || status === 413 || !isRestSmall(request, maxBytes);
  if (closes) response.shouldKeepAlive = false;
  const length = status === 204 ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  response.writeHead(status, { ...headers, ...length });
  if (closes && !request.complete) {
    endAfterBody(request, response, body);
  } else {
    request.resume();
    response.end(body);
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

import type { ServerResponse } from 'node:http';
import type { RequestRefusal } from './request-refusal.js';

/** Why one message of a batch was not taken, as the answer lists it. */
export interface RefusedMessage {
  index: number;
  code: string;
  message: string;
}

/** An answer to a request. */
export interface TrackingAnswer {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** Any page may send, and none may send a cookie or read one's effect. */
const ANY_ORIGIN = { 'access-control-allow-origin': '*', 'access-control-expose-headers': 'retry-after' };
const JSON_HEADERS = { ...ANY_ORIGIN, 'content-type': 'application/json; charset=utf-8' };

/** To a browser that asks whether it may send. */
export const PREFLIGHT_ANSWER: TrackingAnswer = {
  status: 204,
  headers: {
    'access-control-allow-origin': '*',
    'access-control-allow-methods': 'POST',
    'access-control-allow-headers': 'authorization, content-type, x-retry-count',
    'access-control-max-age': '86400',
  },
  body: '',
};

/** All was taken, but for the messages that are listed. */
export function acceptedAnswer(refused: readonly RefusedMessage[] = []): TrackingAnswer {
  const body = { success: true, ...(refused.length > 0 && { refused }) };
  return { status: 200, headers: JSON_HEADERS, body: JSON.stringify(body) };
}

/** Nothing was taken, or it is not sure that all was. */
export function refusedAnswer({ status, code, message, retryAfter }: RequestRefusal): TrackingAnswer {
  const wait: [string, string][] =
    retryAfter === undefined ? [] : [['retry-after', String(Math.ceil(retryAfter / 1000))]];
  return {
    status,
    headers: { ...JSON_HEADERS, ...Object.fromEntries(wait) },
    body: JSON.stringify({ success: false, code, message }),
  };
}

/** The fault is here: the sender may try again. */
export function failedAnswer(): TrackingAnswer {
  const body = {
    success: false,
    code: 'INTERNAL_ERROR',
    message: 'The request failed. Send it again later.',
  };
  return { status: 500, headers: JSON_HEADERS, body: JSON.stringify(body) };
}

/** Writes an answer. What the host's own hooks have set for cross-origin requests is not of this API. */
export function writeAnswer(response: ServerResponse, { status, headers, body }: TrackingAnswer): void {
  if (response.headersSent || response.destroyed) return;
  for (const name of response.getHeaderNames()) {
    if (name.startsWith('access-control-')) response.removeHeader(name);
  }
  const length = status === 204 ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  response.writeHead(status, { ...headers, ...length });
  response.end(body);
}

import { type HttpAnswer, retryAfterHeader } from '../../http/http-answer.js';
import type { RequestRefusal } from '../../http/request-refusal.js';

/** The largest number of refused messages in an answer. */
const MAX_LISTED = 20;
/** Longest reason for refusing a message, in characters. */
const MAX_REASON = 300;
/** Why one message of a batch was refused, as listed in the answer. */
export interface RefusedMessage {
  index: number;
  code: string;
  message: string;
}

/** Pages of any origin may send, but without cookies. */
const ANY_ORIGIN = { 'access-control-allow-origin': '*', 'access-control-expose-headers': 'retry-after' };
const JSON_HEADERS = { ...ANY_ORIGIN, 'content-type': 'application/json; charset=utf-8' };

/** Answers a browser's preflight request. */
export const PREFLIGHT_ANSWER: HttpAnswer = {
  status: 204,
  headers: {
    'access-control-allow-origin': '*',
    'access-control-allow-methods': 'POST',
    'access-control-allow-headers': 'authorization, content-type, x-retry-count',
    'access-control-max-age': '86400',
  },
  body: '',
};

/**
 * Returns the answer for a request whose messages were taken, except the listed ones. Above 20 refusals, the list is a
 * sample, followed by their total as `refusedCount`, so that the answer to a bad batch stays small.
 */
export function acceptedAnswer(refused: readonly RefusedMessage[] = []): HttpAnswer {
  const listed = refused.slice(0, MAX_LISTED).map((one) => ({ ...one, message: cut(one.message) }));
  const body = {
    success: true,
    ...(listed.length > 0 && { refused: listed }),
    ...(refused.length > listed.length && { refusedCount: refused.length }),
  };
  return { status: 200, headers: JSON_HEADERS, body: JSON.stringify(body) };
}

/** Returns the answer if nothing was taken, or not all messages were queued in time. */
export function refusedAnswer({ status, code, message, retryAfter, closes }: RequestRefusal): HttpAnswer {
  return {
    status,
    closes,
    headers: { ...JSON_HEADERS, ...retryAfterHeader(retryAfter) },
    body: JSON.stringify({ success: false, code, message: cut(message) }),
  };
}

/** Returns the answer if a request failed because of an error on this side. Its sender may try again. */
export function failedAnswer(): HttpAnswer {
  const body = {
    success: false,
    code: 'INTERNAL_ERROR',
    message: 'The request failed. Send it again later.',
  };
  return { status: 500, headers: JSON_HEADERS, body: JSON.stringify(body) };
}

function cut(text: string): string {
  return text.length > MAX_REASON ? `${text.slice(0, MAX_REASON)}…` : text;
}

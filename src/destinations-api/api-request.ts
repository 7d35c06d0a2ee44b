import type { IncomingMessage } from 'node:http';
import { RequestRefusal } from '../http/request-refusal.js';
import type { OptionProblem } from '../errors/option-problem.js';
import type { JsonObject } from '../messages/message.types.js';
import { describe } from '../options/option-reader.js';
import { InvalidRequest } from './api-answer.js';
import type { Sender } from './authorizer.js';

/** A request that is known to come from somebody who may send it. */
export interface ApiRequest extends Sender {
  /** The id in the path; empty in those that have none. */
  id: string;
  /** Path and query, before the application has rewritten them. The sender may have asked a proxy for a longer path. */
  address: string;
  /** The fields of the query; those that look like numbers are numbers. */
  query: JsonObject;
  /** The fields of the body; empty without one. */
  fields: JsonObject;
  /** Aborts when nobody waits for what is read any more. */
  signal: AbortSignal;
}

const JSON_TYPE = /^application\/json\s*(;|$)/i;
const NUMBER = /^\d{1,16}$/;
/** Fields of a query that are text, even if they look like numbers. */
const TEXTS: readonly string[] = [
  'tenant',
  'cursor',
  'source',
  'error',
  'messageIds',
  'message',
  'destination',
];

/**
 * A browser lets any page post a form or text here, with the cookies of this application and without a
 * preflight. It sends JSON, like any `PATCH` and `DELETE`, only for pages that this application allows.
 *
 * @throws {RequestRefusal}
 */
export function checkContentType({ headers }: IncomingMessage): void {
  if (JSON_TYPE.test(headers['content-type'] ?? '')) return;
  throw new RequestRefusal(
    415,
    'UNSUPPORTED_MEDIA_TYPE',
    'Send the header `content-type: application/json`, even without a body.',
  );
}

/** Fields of a query that may be given several times, as clients made from the OpenAPI document send a list. */
const LISTS: readonly string[] = ['messageIds'];

/** The fields of a query. @throws {InvalidRequest} if one that is no list is given twice */
export function queryOf(url: string): JsonObject {
  const query: JsonObject = {};
  const parameters = new URLSearchParams(url.includes('?') ? url.slice(url.indexOf('?') + 1) : '');
  for (const [name, text] of parameters) {
    const isAgain = Object.hasOwn(query, name);
    if (isAgain && !LISTS.includes(name))
      throw new InvalidRequest([{ path: name, expected: 'one value', given: 'several' }]);
    if (isAgain) query[name] = [query[name], text].flat();
    else query[name] = NUMBER.test(text) && !TEXTS.includes(name) ? Number(text) : text;
  }
  return query;
}

/** @throws {InvalidRequest} always has one problem */
export function invalid(path: string, expected: string, given: unknown): InvalidRequest {
  const problem: OptionProblem = { path, expected, given: describe(given) };
  return new InvalidRequest([problem]);
}

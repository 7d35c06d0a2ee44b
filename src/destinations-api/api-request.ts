import type { IncomingMessage } from 'node:http';
import { RequestRefusal } from '../http/request-refusal.js';
import type { OptionProblem } from '../errors/option-problem.js';
import type { JsonObject } from '../messages/message.types.js';
import { describe } from '../options/option-reader.js';
import { InvalidRequest } from './api-answer.js';
import type { Sender } from './authorizer.js';

/** A request from an authorized sender. */
export interface ApiRequest extends Sender {
  /** Id in the path; empty if the path has none. */
  id: string;
  /** Path and query, before the application rewrites them. A proxy may have shortened the sender's path. */
  address: string;
  /** Fields of the query. Values that look like numbers are numbers, except in the fields of `TEXTS`. */
  query: JsonObject;
  /** Fields of the body; empty without a body. */
  fields: JsonObject;
  /** Aborts a read when nobody waits for its result any more. */
  signal: AbortSignal;
}

const JSON_TYPE = /^application\/json\s*(;|$)/i;
const NUMBER = /^\d{1,16}$/;
/** Query fields that stay text even if their values look like numbers. */
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
 * Refuses a request whose content type is not JSON. A browser lets any page post a form or text here, with the
 * cookies of this application and without a preflight. The browser sends JSON, like any `PATCH` and `DELETE`, only for
 * pages that this application allows.
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

/** Query fields that may occur several times: clients generated from the OpenAPI document send a list like this. */
const LISTS: readonly string[] = ['messageIds'];

/** Returns the fields of a query. @throws {InvalidRequest} if a field that is not a list occurs twice */
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

/** Returns a refusal with one problem. */
export function invalid(path: string, expected: string, given: unknown): InvalidRequest {
  const problem: OptionProblem = { path, expected, given: describe(given) };
  return new InvalidRequest([problem]);
}

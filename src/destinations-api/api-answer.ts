import { AnalyticsError } from '../errors/analytics.error.js';
import { InvalidDestinationError } from '../errors/destination.errors.js';
import { type OptionProblem, withProblems } from '../errors/option-problem.js';
import { type HttpAnswer, retryAfterHeader } from '../http/http-answer.js';
import { RequestRefusal, type RefusalStatus } from '../http/request-refusal.js';
import { failureOf } from '../queue/queue-failure.js';
import type { DestinationScope } from '../stored-destinations/destinations.types.js';
import { isOfOwnStore } from '../stored-destinations/own-store-errors.js';

/** Milliseconds until the sender should retry after a 503. */
const QUEUE_RETRY = 5_000;

/** Answers contain a tenant's data: no cache may store them, and no browser may take them for a page. */
const HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };
const JSON_HEADERS = { ...HEADERS, 'content-type': 'application/json; charset=utf-8' };

/** Status of each error that a request can cause, by its code. All other codes are answered 500. */
const STATUSES: ReadonlyMap<string, RefusalStatus> = new Map<AnalyticsError['code'], RefusalStatus>([
  ['INVALID_DESTINATION', 422],
  ['DESTINATION_NOT_FOUND', 404],
  ['DESTINATION_CHANGED', 409],
  ['DESTINATION_LIMIT', 409],
  ['DESTINATION_CONFIGURED', 409],
  ['NOT_A_WEBHOOK', 409],
  ['DESTINATIONS_READ_ONLY', 501],
  ['HISTORY_DISABLED', 501],
  ['DESTINATION_KEY', 503],
  ['DESTINATION_STORE_TIMEOUT', 503],
  ['DESTINATION_WRITE_TIMEOUT', 503],
  ['REPLAY_INCOMPLETE', 503],
  ['ANALYTICS_CLOSED', 503],
]);

/** Messages for tenants about errors that only the people who run the application can fix. */
const FOR_TENANTS: ReadonlyMap<string, string> = new Map<AnalyticsError['code'], string>([
  [
    'DESTINATION_KEY',
    'The secrets of this destination cannot be read, so its messages wait. Ask whoever runs this application.',
  ],
  [
    'DESTINATION_STORE_TIMEOUT',
    'The destinations cannot be read at the moment. Try again later, or ask whoever runs this application.',
  ],
]);

/** The request has wrong fields. */
export class InvalidRequest extends RequestRefusal {
  constructor(readonly problems: readonly OptionProblem[]) {
    super(422, 'INVALID_REQUEST', withProblems('The request has wrong fields', problems));
  }
}

/** Returns the refusal for an internal error. Only the log has its details. */
export function internalError(): RequestRefusal {
  return new RequestRefusal(500, 'INTERNAL_ERROR', 'The request failed. Send it again later.');
}

/** Returns the refusal for a destination that does not exist or that the sender may not see. */
export function notFound(): RequestRefusal {
  return new RequestRefusal(404, 'DESTINATION_NOT_FOUND', 'There is no destination with this id.');
}

/**
 * Returns the refusal while the database of the destinations and the queue is unavailable.
 *
 * @param isChange whether a change was begun, and not only a read
 */
export function queueUnavailable(isChange = false): RequestRefusal {
  return new RequestRefusal(
    503,
    'QUEUE_UNAVAILABLE',
    'The database of the queue does not answer.' +
      (isChange ? ' The requested change may still be made later, or not at all.' : ''),
    QUEUE_RETRY,
  );
}

/** Returns the answer to a request whose work takes long and continues after the answer. */
export function runningAnswer(): HttpAnswer {
  return jsonAnswer(202, { running: true });
}

export function jsonAnswer(status: number, body: object, headers: Record<string, string> = {}): HttpAnswer {
  return { status, headers: { ...JSON_HEADERS, ...headers }, body: JSON.stringify(body) };
}

/** Returns the answer for an operation that was done and has no result. */
export function emptyAnswer(): HttpAnswer {
  return { status: 204, headers: HEADERS, body: '' };
}

/** @param headers in addition to those of every answer */
export function refusedAnswer(refusal: RequestRefusal, headers: Record<string, string> = {}): HttpAnswer {
  const { status, code, message, retryAfter, closes } = refusal;
  const problems = refusal instanceof InvalidRequest ? refusal.problems : undefined;
  const body = { error: { code, message, problems } };
  return { ...jsonAnswer(status, body, { ...retryAfterHeader(retryAfter), ...headers }), closes };
}

/** Returns the error that the sender gets. For some errors, tenants get a message of their own. */
export function errorFor({ tenant }: DestinationScope, error: unknown): unknown {
  if (tenant === undefined || !(error instanceof AnalyticsError)) return error;
  const text = FOR_TENANTS.get(error.code);
  return text === undefined ? error : new RequestRefusal(503, error.code, text, QUEUE_RETRY);
}

/** Returns the stable code of a request's error. */
export function codeOf(error: unknown): string {
  if (error instanceof RequestRefusal) return error.code;
  if (isOfQueue(error)) return queueUnavailable().code;
  return error instanceof AnalyticsError ? error.code : internalError().code;
}

/** Whether an error means that the request was refused before anything was done. */
export function isRefusal(error: unknown): boolean {
  const status = answerToError(error)?.status ?? 500;
  return status < 500 || status === 501;
}

/**
 * Returns the answer to a failed request, or `undefined` for an internal error.
 *
 * @param isChange whether the request was to change something
 */
export function answerToError(error: unknown, isChange = false): HttpAnswer | undefined {
  if (error instanceof RequestRefusal) return refusedAnswer(error);
  if (isOfQueue(error)) return refusedAnswer(queueUnavailable(isChange));
  const status = error instanceof AnalyticsError ? STATUSES.get(error.code) : undefined;
  if (status === undefined || !(error instanceof AnalyticsError)) return undefined;
  if (status === 404) return refusedAnswer(notFound());
  const problems = error instanceof InvalidDestinationError ? error.problems : undefined;
  const { code, message } = error;
  const wait = status === 503 ? QUEUE_RETRY : undefined;
  return jsonAnswer(status, { error: { code, message, problems } }, retryAfterHeader(wait));
}

/** Whether an error means that the queue's database is unavailable, and is not from the application's own store. */
function isOfQueue(error: unknown): boolean {
  return failureOf(error) !== undefined && !isOfOwnStore(error);
}

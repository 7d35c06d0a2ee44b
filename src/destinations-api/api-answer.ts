import { AnalyticsError } from '../errors/analytics.error.js';
import { InvalidDestinationError } from '../errors/destination.errors.js';
import { type OptionProblem, withProblems } from '../errors/option-problem.js';
import { type HttpAnswer, retryAfterHeader } from '../http/http-answer.js';
import { RequestRefusal, type RefusalStatus } from '../http/request-refusal.js';
import { failureOf } from '../queue/queue-failure.js';
import type { DestinationScope } from '../stored-destinations/destinations.types.js';
import { isOfOwnStore } from '../stored-destinations/own-store-errors.js';

/** When to ask again while the database cannot be reached, in milliseconds. */
const QUEUE_RETRY = 5_000;

/** What an answer holds is the tenant's own: no cache may keep it, and no browser take it for a page. */
const HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };
const JSON_HEADERS = { ...HEADERS, 'content-type': 'application/json; charset=utf-8' };

/** The errors that a request can cause. All others are answered 500. */
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

/** What tenants read about errors that only whoever runs the application can act on. */
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

/** An error on this side. Its details are in the log. */
export function internalError(): RequestRefusal {
  return new RequestRefusal(500, 'INTERNAL_ERROR', 'The request failed. Send it again later.');
}

/** There is no such destination, or none that the sender may see. */
export function notFound(): RequestRefusal {
  return new RequestRefusal(404, 'DESTINATION_NOT_FOUND', 'There is no destination with this id.');
}

/**
 * The database of the destinations and of the queue is away.
 *
 * @param isChange whether a change was begun, and not only something to be read
 */
export function queueUnavailable(isChange = false): RequestRefusal {
  return new RequestRefusal(
    503,
    'QUEUE_UNAVAILABLE',
    'The database of the queue does not answer.' +
      (isChange ? ' A change that was asked for may be made later, or not at all.' : ''),
    QUEUE_RETRY,
  );
}

/** What was asked for takes long, and goes on. */
export function runningAnswer(): HttpAnswer {
  return jsonAnswer(202, { running: true });
}

export function jsonAnswer(status: number, body: object, headers: Record<string, string> = {}): HttpAnswer {
  return { status, headers: { ...JSON_HEADERS, ...headers }, body: JSON.stringify(body) };
}

/** The operation was done, and has no result. */
export function emptyAnswer(): HttpAnswer {
  return { status: 204, headers: HEADERS, body: '' };
}

/** @param headers beside those of every answer */
export function refusedAnswer(refusal: RequestRefusal, headers: Record<string, string> = {}): HttpAnswer {
  const { status, code, message, retryAfter, closes } = refusal;
  const problems = refusal instanceof InvalidRequest ? refusal.problems : undefined;
  const body = { error: { code, message, problems } };
  return { ...jsonAnswer(status, body, { ...retryAfterHeader(retryAfter), ...headers }), closes };
}

/** An error, worded for whoever asked. */
export function errorFor({ tenant }: DestinationScope, error: unknown): unknown {
  if (tenant === undefined || !(error instanceof AnalyticsError)) return error;
  const text = FOR_TENANTS.get(error.code);
  return text === undefined ? error : new RequestRefusal(503, error.code, text, QUEUE_RETRY);
}

/** The stable code of a request's error. */
export function codeOf(error: unknown): string {
  if (error instanceof RequestRefusal) return error.code;
  if (isOfQueue(error)) return queueUnavailable().code;
  return error instanceof AnalyticsError ? error.code : internalError().code;
}

/** Whether an error refuses a request before anything of it is done. */
export function isRefusal(error: unknown): boolean {
  const status = answerToError(error)?.status ?? 500;
  return status < 500 || status === 501;
}

/**
 * The answer to a request that failed; `undefined` if the reason is an error on this side.
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

/** Whether the database of the queue is away, and not that of an application's own store. */
function isOfQueue(error: unknown): boolean {
  return failureOf(error) !== undefined && !isOfOwnStore(error);
}
